//! An executor whose time is a [`ManualClock`].

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;

use super::ManualClock;
use crate::Instant;

/// Runs futures on one thread and moves their clock from one due instant to
/// the next, so that days pass in no time.
pub struct Simulation {
    pool: LocalPool,
    clock: ManualClock,
}

impl Simulation {
    /// A simulation on `clock`.
    pub fn new(clock: ManualClock) -> Self {
        Self {
            pool: LocalPool::new(),
            clock,
        }
    }

    /// Runs `future` as a task.
    ///
    /// # Panics
    ///
    /// Never: the pool lives as long as the simulation.
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        if self.pool.spawner().spawn_local(future).is_err() {
            unreachable!("the pool lives as long as the simulation");
        }
    }

    /// Runs everything that can run without time passing.
    pub fn settle(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Lets time pass until `instant`. What is due before it has run when this
    /// returns; what is due at it has not, so that a test can let more happen
    /// at the same instant before it [settles](Self::settle).
    pub fn run_until(&mut self, instant: Instant) {
        loop {
            self.settle();
            match self.clock.next_due() {
                Some(due) if due < instant => self.clock.advance_to(due),
                _ => break,
            }
        }
        self.clock.advance_to(instant);
    }

    /// Lets time pass until `future` is done. False if that will never be:
    /// nothing is due any more.
    pub fn run_to_end(&mut self, future: impl Future<Output = ()> + 'static) -> bool {
        let done = Rc::new(Cell::new(false));
        let told = Rc::clone(&done);
        self.spawn(async move {
            future.await;
            told.set(true);
        });
        loop {
            self.settle();
            if done.get() {
                return true;
            }
            match self.clock.next_due() {
                Some(due) => self.clock.advance_to(due),
                None => return false,
            }
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
