//! Makes a history that breaks something shorter.

use crate::history::{Bounds, History, Rhythm, Start, What};

/// How many histories are tried at most.
const TRIES_MAX: u32 = 1000;

/// The shortest history found, by leaving out and simplifying parts of `history`,
/// for which `still_fails` holds as it does for that.
pub fn shrink(history: &History, still_fails: impl Fn(&History) -> bool) -> History {
    let mut shrinking = Shrinking {
        best: history.clone(),
        still_fails,
        tries: 0,
    };
    while shrinking.shorten() | shrinking.leave_out() | shrinking.simplify() {}
    shrinking.best
}

struct Shrinking<F> {
    best: History,
    still_fails: F,
    tries: u32,
}

impl<F: Fn(&History) -> bool> Shrinking<F> {
    /// Takes `candidate` if it is another one and fails too.
    fn try_out(&mut self, candidate: History) -> bool {
        if candidate == self.best || self.tries == TRIES_MAX {
            return false;
        }
        self.tries += 1;
        let fails = (self.still_fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// Ends it earlier.
    fn shorten(&mut self) -> bool {
        let mut any = false;
        let mut cut_ms = self.best.length_ms / 2;
        while cut_ms > 0 {
            let mut shorter = self.best.clone();
            shorter.length_ms = shorter.length_ms.saturating_sub(cut_ms);
            shorter
                .events
                .retain(|event| event.at_ms <= shorter.length_ms);
            if self.try_out(shorter) {
                any = true;
            } else {
                cut_ms /= 2;
            }
        }
        any
    }

    /// Leaves events out, many at once and then each.
    fn leave_out(&mut self) -> bool {
        let mut any = false;
        let mut many = self.best.events.len().div_ceil(2);
        while many > 0 {
            let mut from = 0;
            while from < self.best.events.len() {
                let mut fewer = self.best.clone();
                let to = (from + many).min(fewer.events.len());
                fewer.events.drain(from..to);
                if self.try_out(fewer) {
                    any = true;
                } else {
                    from = to;
                }
            }
            many = match many {
                1 => 0,
                _ => many.div_ceil(2),
            };
        }
        any
    }

    /// Makes what is left ordinary.
    fn simplify(&mut self) -> bool {
        let mut any = self.change(|history| {
            history.rhythm = Rhythm {
                capture_ms: 30_000,
                cooldown_ms: 300_000,
                interval_ms: 1_800_000,
            };
        });
        any |= self.change(|history| {
            history.bounds = Bounds {
                entries_max: 512,
                bytes_max: 256 << 20,
                profile_bytes_max: 8 << 20,
                sidecar_bytes_max: 16 << 10,
            };
        });
        for number in 0..self.best.events.len() {
            any |= self.change(|history| {
                if let What::Start(start) = &mut history.events[number].what {
                    *start = Start {
                        until_ms: start.until_ms,
                        ..Start::default()
                    };
                }
            });
            any |= self.change_start(number, |start| start.lag_ms = 0);
            any |= self.change_start(number, |start| start.snapshot_ms = 0);
            let faults = match &self.best.events[number].what {
                What::Start(start) => start.faults.len(),
                _ => 0,
            };
            for fault in (0..faults).rev() {
                any |= self.change_start(number, |start| {
                    start.faults.remove(fault);
                });
            }
        }
        any
    }

    fn change(&mut self, change: impl FnOnce(&mut History)) -> bool {
        let mut changed = self.best.clone();
        change(&mut changed);
        self.try_out(changed)
    }

    fn change_start(&mut self, number: usize, change: impl FnOnce(&mut Start)) -> bool {
        self.change(|history| {
            if let What::Start(start) = &mut history.events[number].what {
                change(start);
            }
        })
    }
}
