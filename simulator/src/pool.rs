//! A runtime's place for blocking work, which is slow, refuses, or dies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_core::Offload;
use tachograph_core::offload::Work;
use tachograph_core::testing::ManualClock;

use crate::parts::millis;

/// Runs work a fixed time after it was handed over; at once if that is zero.
#[derive(Clone)]
pub(crate) struct Pool {
    clock: ManualClock,
    lag_ms: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By when it is due and when it came.
    queue: BTreeMap<(u64, u64), Work>,
    came: u64,
    refuses: bool,
}

impl Pool {
    pub(crate) fn new(clock: ManualClock, lag_ms: u64) -> Self {
        Self {
            clock,
            lag_ms,
            state: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the next piece of work is due.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.state().queue.first_key_value().map(|(key, _)| key.0)
    }

    /// Runs what is due; false if nothing was.
    pub(crate) fn run_due(&self) -> bool {
        let now_ms = millis(&self.clock);
        let mut ran = false;
        loop {
            let mut state = self.state();
            match state.queue.first_entry() {
                Some(first) if first.key().0 <= now_ms => {
                    let work = first.remove();
                    drop(state);
                    work();
                    ran = true;
                }
                _ => return ran,
            }
        }
    }

    /// Whether further work is dropped unrun.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.state().refuses = refuses;
    }

    /// Drops all work unrun, now and from now on.
    pub(crate) fn shut_down(&self) {
        let mut state = self.state();
        state.refuses = true;
        let dropped = std::mem::take(&mut state.queue);
        drop(state);
        drop(dropped);
    }
}

impl Offload for Pool {
    fn spawn(&self, work: Work) {
        let mut state = self.state();
        if state.refuses {
            drop(state);
            drop(work);
        } else if self.lag_ms == 0 {
            drop(state);
            work();
        } else {
            let key = (millis(&self.clock) + self.lag_ms, state.came);
            state.came += 1;
            state.queue.insert(key, work);
        }
    }
}
