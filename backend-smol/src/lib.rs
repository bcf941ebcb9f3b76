//! Runs a Tachograph recorder on smol.
//!
//! [`smol()`] is what a recorder is told to run on. It takes time from the
//! timers of async-io, sends blocking work to smol's blocking pool, and spawns
//! its one task on smol's global executor, or with [`Smol::on`] on an executor
//! of one's own. These executors do not count their tasks, so a sidecar says
//! nothing of the runtime.
//!
//! The parts are public for those who wire a recorder by hand: [`SmolClock`]
//! and [`SmolOffload`]. They need no particular executor.
//!
//! # At exit
//!
//! smol's threads and its blocking pool live until the process ends, and
//! nothing waits for them then. To keep the capture in progress, and to leave
//! no `.partial` file, stop the recorder and wait for that before `main`
//! returns. An executor of one's own that is dropped drops the recorder's task,
//! whose clean-up goes to the blocking pool.

#![forbid(unsafe_code)]

mod clock;
mod offload;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use async_io::Timer;
use smol::Executor;
use tachograph_core::{Clock, Connection, Driver, Error, ErrorKind, Runtime};

pub use clock::SmolClock;
pub use offload::SmolOffload;

/// smol, with its global executor.
///
/// ```
/// use tachograph_core::Runtime;
///
/// let connection = tachograph_smol::smol().connect()?;
/// assert!(connection.snapshot_source.is_none());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
pub fn smol() -> Smol {
    Smol { executor: None }
}

/// The [`Runtime`] made by [`smol()`] or [`Smol::on`].
///
/// smol needs no surroundings: its [`connect`](Runtime::connect) works on any
/// thread. It starts async-io's thread, and for the global executor that one's
/// threads, should they not run yet. It fails with [`ErrorKind::NoRuntime`] if
/// the system refuses a thread or a descriptor for them. That is a panic of
/// smol's: it is contained, but the process's panic hook sees it, and under
/// `panic = "abort"` it aborts.
#[derive(Clone)]
pub struct Smol {
    executor: Option<Arc<Executor<'static>>>,
}

impl Smol {
    /// smol, with the recorder on `executor`. Somebody has to run it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tachograph_core::{Driver, Runtime};
    /// use tachograph_smol::Smol;
    ///
    /// let executor = Arc::new(smol::Executor::new());
    /// let connection = Smol::on(Arc::clone(&executor)).connect()?;
    /// (connection.spawn)(Driver::inert());
    /// assert!(executor.try_tick());
    /// # Ok::<(), tachograph_core::Error>(())
    /// ```
    pub fn on(executor: Arc<Executor<'static>>) -> Self {
        Self {
            executor: Some(executor),
        }
    }
}

impl fmt::Debug for Smol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smol")
            .field("own_executor", &self.executor.is_some())
            .finish()
    }
}

impl Runtime for Smol {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SmolClock::new())
    }

    fn connect(&self) -> Result<Connection, Error> {
        let executor = self.executor.clone();
        // Both start on first use. Left to themselves they would do that in
        // the driver, where a refusal would be a panic in somebody's executor.
        let started = catch_unwind(AssertUnwindSafe(|| {
            start_reactor();
            if executor.is_none() {
                smol::spawn(async {}).detach();
            }
        }));
        if started.is_err() {
            return Err(Error::new(
                ErrorKind::NoRuntime,
                "smol could not be started: the system refused it a thread or a file \
                 descriptor; raise the process's limits",
            ));
        }
        Ok(Connection {
            offload: Arc::new(SmolOffload::new()),
            snapshot_source: None,
            spawn: Box::new(move |driver: Driver| {
                match executor {
                    Some(executor) => executor.spawn(driver),
                    None => smol::spawn(driver),
                }
                .detach();
            }),
        })
    }
}

/// Makes async-io start its thread and open its event queue, by registering a
/// timer that is dropped at once.
fn start_reactor() {
    let mut timer = Timer::after(Duration::from_secs(1));
    let _ = Pin::new(&mut timer).poll(&mut Context::from_waker(Waker::noop()));
}
