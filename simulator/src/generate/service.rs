//! The service's own story: it starts, ends in some way, and starts again.

use super::{HOUR_MS, LENGTH_MS, MINUTE_MS, Teller};
use crate::history::{Call, Fault, How, Leaves, Squatted, Start, What};

impl Teller {
    /// The service starts, ends in some way, and starts again.
    pub(super) fn service(&mut self) {
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
}

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
