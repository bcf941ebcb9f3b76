//! Threads that are there before sampling begins and after it has ended.

use std::io;
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// Threads named `busy-0`, `busy-1`, … that do the same work at the same time.
pub(crate) struct Crew<T> {
    turn: Arc<Barrier>,
    threads: Vec<JoinHandle<T>>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts `count` threads, which wait.
    pub(crate) fn new(
        count: usize,
        work: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let turn = Arc::new(Barrier::new(count + 1));
        let work = Arc::new(work);
        let threads = (0..count)
            .map(|number| {
                let turn = Arc::clone(&turn);
                let work = Arc::clone(&work);
                thread::Builder::new()
                    .name(format!("busy-{number}"))
                    .spawn(move || {
                        turn.wait();
                        let result = work(number);
                        turn.wait();
                        turn.wait();
                        result
                    })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { turn, threads })
    }

    /// Lets all of them work, and returns when the last is done.
    pub(crate) fn work(&self) {
        self.start();
        self.await_done();
    }

    /// Lets all of them work.
    pub(crate) fn start(&self) {
        self.turn.wait();
    }

    /// Returns when the last is done.
    pub(crate) fn await_done(&self) {
        self.turn.wait();
    }

    /// Lets them end, and returns what each said.
    pub(crate) fn end(self) -> Vec<T> {
        self.turn.wait();
        self.threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    }
}
