//! Places for blocking work that a test controls.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ManualClock;
use crate::Clock;
use crate::offload::{Offload, Work};

/// Runs work on the spot.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineOffload;

impl Offload for InlineOffload {
    fn spawn(&self, work: Work) {
        work();
    }
}

/// Runs each piece of work when its clock has moved by a fixed delay: a slow
/// disk, a full blocking pool.
#[derive(Clone, Debug)]
pub struct DelayedOffload {
    clock: ManualClock,
    delay: Duration,
}

impl DelayedOffload {
    /// Work waits for `delay` of `clock`.
    pub fn new(clock: ManualClock, delay: Duration) -> Self {
        Self { clock, delay }
    }
}

impl Offload for DelayedOffload {
    fn spawn(&self, work: Work) {
        let due = self.clock.now().saturating_add(self.delay);
        self.clock.call_at(due, work);
    }
}

/// Keeps work until a test runs or drops it. Clones share their queue.
#[derive(Clone, Default)]
pub struct QueuedOffload {
    queue: Arc<Mutex<VecDeque<Work>>>,
    running: Arc<AtomicBool>,
}

impl QueuedOffload {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    fn pop(&self) -> Option<Work> {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    /// Runs the oldest piece of work; false if there is none.
    pub fn run_next(&self) -> bool {
        match self.pop() {
            Some(work) => {
                self.running.store(true, Ordering::SeqCst);
                work();
                self.running.store(false, Ordering::SeqCst);
                true
            }
            None => false,
        }
    }

    /// Whether a piece of work is being run right now: where blocking is
    /// allowed.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::SeqCst)
    }

    /// Drops the oldest piece of work unrun, as a runtime that shuts down
    /// does; false if there is none.
    pub fn refuse_next(&self) -> bool {
        self.pop().is_some()
    }
}

impl Offload for QueuedOffload {
    fn spawn(&self, work: Work) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(work);
    }
}

impl fmt::Debug for QueuedOffload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedOffload").finish_non_exhaustive()
    }
}
