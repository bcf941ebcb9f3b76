//! Makes a history from a seed.

use fastrand::Rng;

use crate::history::{
    Bounds, Call, Event, Fault, History, How, Leaves, Rhythm, Squatted, Start, What,
};

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// How long every history is.
const LENGTH_MS: u64 = 72 * HOUR_MS;

/// The history of `seed`: always the same.
pub fn generate(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed);
    // On a coarse grid things often happen at one and the same instant.
    let grid_ms = [1, 250, SECOND_MS, 10 * SECOND_MS][rng.usize(..4)];
    let rhythm = rhythm(&mut rng, grid_ms);
    let bounds = bounds(&mut rng);
    let mut teller = Teller {
        rng,
        grid_ms,
        rhythm,
        bounds,
        events: Vec::new(),
    };
    teller.directory();
    teller.service();
    teller.requests();
    teller.clocks();
    let mut events = teller.events;
    events.retain(|event| event.at_ms <= LENGTH_MS);
    // Stable: of two at the same time the one told first comes first.
    events.sort_by_key(|event| event.at_ms);
    History {
        length_ms: LENGTH_MS,
        rhythm,
        bounds,
        events,
    }
}

fn on_grid(ms: u64, grid_ms: u64) -> u64 {
    (ms / grid_ms).max(1) * grid_ms
}

fn rhythm(rng: &mut Rng, grid_ms: u64) -> Rhythm {
    let (capture_ms, cooldown_ms) = match rng.u32(..100) {
        0..15 => {
            return Rhythm {
                capture_ms: 30 * SECOND_MS,
                cooldown_ms: 5 * MINUTE_MS,
                interval_ms: 30 * MINUTE_MS,
            };
        }
        15..75 => (
            rng.u64(250..5 * SECOND_MS),
            rng.u64(MINUTE_MS..20 * MINUTE_MS),
        ),
        75..95 => (
            rng.u64(5 * SECOND_MS..40 * SECOND_MS),
            rng.u64(4 * MINUTE_MS..HOUR_MS),
        ),
        // A capture is allowed to fill the cooldown.
        _ => (2 * MINUTE_MS, 2 * MINUTE_MS),
    };
    let cooldown_ms = on_grid(cooldown_ms, grid_ms);
    Rhythm {
        capture_ms: on_grid(capture_ms, grid_ms).min(cooldown_ms),
        cooldown_ms,
        interval_ms: match rng.u32(..4) {
            0 => cooldown_ms,
            1 => on_grid(cooldown_ms + rng.u64(..cooldown_ms), grid_ms).max(cooldown_ms),
            _ => on_grid(cooldown_ms * rng.u64(1..12), grid_ms).max(cooldown_ms),
        },
    }
}

fn bounds(rng: &mut Rng) -> Bounds {
    let profile_bytes_max = rng.u64(64..2048);
    let sidecar_bytes_max = 4096;
    let capture_bytes = profile_bytes_max + sidecar_bytes_max;
    Bounds {
        entries_max: match rng.u32(..3) {
            0 => rng.u64(2..100),
            _ => 512,
        },
        bytes_max: match rng.u32(..3) {
            0 => capture_bytes + rng.u64(..200_000),
            _ => 256 << 20,
        },
        profile_bytes_max,
        sidecar_bytes_max,
    }
}

struct Teller {
    rng: Rng,
    grid_ms: u64,
    rhythm: Rhythm,
    bounds: Bounds,
    events: Vec<Event>,
}

impl Teller {
    fn tell(&mut self, at_ms: u64, what: What) {
        self.events.push(Event { at_ms, what });
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    fn at_random(&mut self) -> u64 {
        on_grid(self.rng.u64(..LENGTH_MS), self.grid_ms)
    }

    /// A while, short or long: each order of magnitude is as likely.
    fn while_ms(&mut self, longest_ms: u64) -> u64 {
        let shortest = (self.grid_ms as f64).max(200.0).ln();
        let longest = (longest_ms as f64).ln().max(shortest);
        let ms = (shortest + self.rng.f64() * (longest - shortest)).exp();
        on_grid(ms as u64, self.grid_ms)
    }

    /// A while that ends close to where captures happen.
    fn while_of_captures_ms(&mut self) -> u64 {
        let Rhythm {
            capture_ms,
            cooldown_ms,
            interval_ms,
        } = self.rhythm;
        let base_ms = match self.rng.u32(..10) {
            0 => 0,
            1..3 => cooldown_ms,
            3..7 => cooldown_ms + interval_ms * self.rng.u64(1..40),
            _ => return self.while_ms(60 * HOUR_MS),
        };
        base_ms + self.rng.u64(..=(capture_ms * 5 / 4) / self.grid_ms) * self.grid_ms
    }

    /// What others do to the directory.
    fn directory(&mut self) {
        if self.chance(70) {
            let bytes = self.rng.u64(..=self.bounds.profile_bytes_max);
            self.tell(0, What::ProfileBytes(bytes));
        }
        if self.chance(5) {
            let at_ms = self.at_random();
            self.tell(at_ms, What::ProfileBytes(self.bounds.profile_bytes_max + 1));
        }
        for _ in 0..self.rng.u32(..6) {
            let at_ms = if self.chance(30) { 0 } else { self.at_random() };
            let name = FOREIGN_NAMES[self.rng.usize(..FOREIGN_NAMES.len())].to_owned();
            let removed_ms = at_ms + self.while_ms(20 * HOUR_MS);
            let bytes = self.rng.u64(..20_000);
            self.tell(
                at_ms,
                What::Put {
                    name: name.clone(),
                    bytes,
                },
            );
            if self.chance(50) {
                self.tell(removed_ms, What::Remove { name });
            }
        }
        if self.chance(20) {
            let at_ms = self.at_random();
            let name = OTHER_NAMES[self.rng.usize(..OTHER_NAMES.len())].to_owned();
            self.tell(at_ms, What::PutOther { name });
        }
        for _ in 0..self.rng.u32(..4) {
            let at_ms = self.at_random();
            self.tell(at_ms, What::Collect);
        }
        if self.chance(10) {
            let at_ms = self.at_random();
            let later_ms = at_ms + self.while_ms(10 * HOUR_MS);
            let capture = self.bounds.profile_bytes_max + self.bounds.sidecar_bytes_max;
            let bytes = capture + self.rng.u64(..3);
            self.tell(at_ms, What::Free { bytes: Some(bytes) });
            self.tell(
                later_ms,
                What::Free {
                    bytes: Some(bytes - 2),
                },
            );
        }
    }

    /// The service starts, ends in some way, and starts again.
    fn service(&mut self) {
        let mut at_ms = 0;
        let mut until_ms = match self.rng.u32(..4) {
            0 => self.while_of_captures_ms(),
            _ => LENGTH_MS,
        };
        while at_ms < LENGTH_MS {
            let start = self.start(until_ms as i64);
            if self.chance(3) {
                let entry = [
                    Squatted::PartialProfile,
                    Squatted::Sidecar,
                    Squatted::Profile,
                ][self.rng.usize(..3)];
                let in_ms = start.lag_ms;
                self.tell(at_ms, What::Squat { in_ms, entry });
            }
            self.tell(at_ms, What::Start(start));
            if self.chance(5) {
                let again = self.start(until_ms as i64);
                let again_ms = at_ms + self.while_ms(HOUR_MS);
                self.tell(again_ms, What::Start(again));
            }
            at_ms = self.ending(at_ms);
            at_ms += match self.rng.u32(..3) {
                0 => 0,
                1 => self.while_ms(self.rhythm.cooldown_ms),
                _ => self.while_ms(10 * HOUR_MS),
            };
            if self.chance(40) {
                self.tell(at_ms, What::Collect);
            }
            let is_over = until_ms <= at_ms;
            if self.chance(if is_over { 80 } else { 10 }) {
                until_ms = at_ms
                    + if self.chance(25) {
                        self.while_of_captures_ms()
                    } else {
                        LENGTH_MS - self.rng.u64(..24 * HOUR_MS)
                    };
            }
            if self.chance(2) {
                // More than 72 h ahead.
                until_ms = at_ms + LENGTH_MS + self.while_ms(HOUR_MS);
            }
        }
        if self.chance(5) {
            let at_ms = self.at_random();
            let later_ms = at_ms + self.while_ms(HOUR_MS);
            self.tell(at_ms, What::RefuseWork(true));
            self.tell(later_ms, What::RefuseWork(false));
        }
    }

    fn start(&mut self, until_ms: i64) -> Start {
        let lag_ms = match self.rng.u32(..10) {
            0..6 => 0,
            6..9 => self.rng.u64(1..300),
            _ => self.rng.u64(300..3000),
        };
        let snapshot_ms = match self.rng.u32(..20) {
            0..14 => 0,
            14..19 => self.rng.u64(1..5000),
            _ => 5000 + self.rng.u64(..2),
        };
        let mut faults = Vec::new();
        if self.chance(25) {
            faults.push(Fault {
                call: CALLS[self.rng.usize(..CALLS.len())],
                nth: self.rng.u64(1..10),
                how: [How::Error, How::Panic, How::Never][self.rng.usize(..3)],
            });
        }
        for _ in 0..self.rng.u32(..4) {
            faults.push(Fault {
                call: Call::SamplerStart,
                nth: self.rng.u64(1..30),
                how: How::Busy,
            });
        }
        Start {
            until_ms,
            lag_ms,
            snapshot_ms,
            faults,
        }
    }

    /// How a service that has started at `at_ms` ends, and when.
    fn ending(&mut self, at_ms: u64) -> u64 {
        let end_ms = at_ms + self.while_of_captures_ms();
        match self.rng.u32(..100) {
            // Nothing does but what the recorder finds itself.
            0..35 => LENGTH_MS.min(at_ms + self.while_ms(2 * LENGTH_MS)),
            35..55 => {
                self.tell(end_ms, What::Stop);
                if self.chance(30) {
                    let again_ms = end_ms + self.while_ms(MINUTE_MS);
                    self.tell(again_ms, What::Stop);
                }
                end_ms
            }
            55..60 => {
                self.tell(end_ms, What::DropHandles);
                end_ms
            }
            60..70 => {
                let finishes_work = self.rng.bool();
                self.tell(end_ms, What::DropDriver { finishes_work });
                if self.chance(50) {
                    self.tell(end_ms, What::Stop);
                }
                end_ms
            }
            70..85 => {
                self.kill(end_ms);
                end_ms
            }
            _ => self.crash_loop(at_ms),
        }
    }

    fn kill(&mut self, at_ms: u64) {
        let leaves = [Leaves::Profile, Leaves::PartialSidecar, Leaves::Sidecar];
        let leaves = leaves[self.rng.usize(..3)];
        self.tell(at_ms, What::Kill { leaves });
    }

    /// Every capture kills the service, and it comes back each time.
    fn crash_loop(&mut self, started_ms: u64) -> u64 {
        let mut at_ms = started_ms;
        let mut capture_ms = started_ms;
        for _ in 0..self.rng.u32(1..6) {
            let into_capture_ms = self.rng.u64(..=self.rhythm.capture_ms / self.grid_ms);
            at_ms = capture_ms + into_capture_ms * self.grid_ms;
            self.kill(at_ms);
            at_ms += self.while_ms(2 * self.rhythm.cooldown_ms);
            let mut start = self.start((at_ms + 10 * HOUR_MS) as i64);
            start.lag_ms = 0;
            self.tell(at_ms, What::Start(start));
            // The next comes when the cooldown of the last is over.
            capture_ms = at_ms.max(capture_ms + self.rhythm.cooldown_ms);
        }
        at_ms
    }

    /// Who asks for captures.
    fn requests(&mut self) {
        let count = match self.rng.u32(..4) {
            0 => 0,
            1 => self.rng.u32(..10),
            _ => self.rng.u32(..80),
        };
        for _ in 0..count {
            let at_ms = self.at_random();
            let times = if self.chance(20) {
                self.rng.u32(2..4)
            } else {
                1
            };
            for _ in 0..times {
                let what = self.asking();
                self.tell(at_ms, what);
            }
        }
        // A job that runs every interval, and so just when a tick comes.
        if self.chance(25) {
            let mut at_ms = self.rhythm.cooldown_ms * self.rng.u64(..2);
            while at_ms < LENGTH_MS {
                let name = "compaction".to_owned();
                self.tell(at_ms, What::Task { name });
                at_ms += self.rhythm.interval_ms.max(10 * MINUTE_MS);
            }
        }
    }

    fn asking(&mut self) -> What {
        let name = NAMES[self.rng.usize(..NAMES.len())].to_owned();
        if self.rng.bool() {
            What::Task { name }
        } else {
            What::Request { reason: name }
        }
    }

    /// What happens to the clocks.
    fn clocks(&mut self) {
        if self.chance(40) {
            for _ in 0..self.rng.u32(1..4) {
                let at_ms = self.near_something();
                let far_ms = match self.rng.u32(..3) {
                    // The same wall times come again.
                    0 => self.rhythm.interval_ms,
                    _ => self.while_ms(24 * HOUR_MS),
                };
                let by_ms = if self.chance(60) {
                    -(far_ms as i64)
                } else {
                    far_ms as i64
                };
                self.tell(at_ms, What::StepWall { by_ms });
            }
        }
        // One that is wrong for a moment, and then right again.
        if self.chance(20) {
            let at_ms = self.near_something();
            let back_ms = at_ms + self.while_ms(10 * SECOND_MS);
            let by_ms = self.while_ms(LENGTH_MS) as i64;
            self.tell(at_ms, What::StepWall { by_ms });
            self.tell(back_ms, What::StepWall { by_ms: -by_ms });
        }
        if self.chance(40) {
            for _ in 0..self.rng.u32(1..4) {
                let at_ms = self.near_something();
                let for_ms = self.while_ms(12 * HOUR_MS);
                self.tell(at_ms, What::Suspend { for_ms });
            }
        }
    }

    /// At or shortly after something else that happens, or anywhere.
    fn near_something(&mut self) -> u64 {
        if self.rng.bool() {
            return self.at_random();
        }
        let other_ms = self.events[self.rng.usize(..self.events.len())].at_ms;
        let steps = self.rng.u64(..=self.rhythm.capture_ms / self.grid_ms);
        other_ms + steps * self.grid_ms
    }
}

/// Close to the names of captures, and none.
const FOREIGN_NAMES: [&str; 8] = [
    "notes.txt",
    "core.1234",
    "20261130T073220.147230271Z.pprof.gz",
    "20261130T073220Z.pprof",
    "20261130T073220.147230271Z.json",
    "20261131T073220.147230271Z.pprof.partial",
    "x.partial",
    "periodic.pprof.json",
];

/// What a directory may be called too.
const OTHER_NAMES: [&str; 4] = [
    "lost+found",
    "20261130T000000.000000001Z.pprof.partial",
    "20261130T000000.000000002Z.pprof.json",
    "20261203T000000.000000003Z.pprof",
];

/// Reasons and tasks: two are triggers, three are no names at all.
const NAMES: [&str; 6] = ["compaction", "reindex", "backup", "periodic", "", "a\nb"];

const CALLS: [Call; 10] = [
    Call::Recover,
    Call::Usage,
    Call::Stage,
    Call::Publish,
    Call::Close,
    Call::SamplerStart,
    Call::SamplerCheck,
    Call::SamplerStop,
    Call::SamplerEncode,
    Call::Snapshot,
];
