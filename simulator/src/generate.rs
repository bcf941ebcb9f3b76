//! Makes a history from a seed.

mod service;

use fastrand::Rng;

use crate::history::{Bounds, Event, History, Rhythm, What};

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
        // A job that runs every interval, and so just when a tick comes, or is
        // being captured then.
        if self.chance(30) {
            let mut at_ms = self.rhythm.cooldown_ms * self.rng.u64(..2);
            if self.rng.bool() {
                at_ms = at_ms.saturating_sub(self.rng.u64(..self.rhythm.capture_ms));
            }
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
