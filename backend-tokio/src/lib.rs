//! Runs a Tachograph recorder on tokio.
//!
//! [`tokio()`] is what a recorder is told to run on. It takes time from tokio's
//! own clock, sends blocking work to tokio's blocking pool, spawns its one
//! task on the runtime that it was started in, and tells in every sidecar how
//! many tasks and workers that runtime had. Both flavours of runtime will do,
//! as long as the time driver is enabled.
//!
//! The parts are public for those who wire a recorder by hand:
//! [`TokioClock`], [`TokioOffload`], [`RuntimeSnapshot`].
//!
//! # At shutdown
//!
//! A runtime that is dropped drops the recorder's task: sampling stops, and the
//! capture in progress is given up without a trace. That is over when the drop
//! of the runtime returns, since tokio waits for blocking work that has begun,
//! and work that it refuses is done by whoever hands it over. (With
//! `shutdown_background` or a timeout tokio does not wait.) To keep the capture
//! in progress, stop the recorder and wait for that before the runtime goes.
//!
//! # Under paused time
//!
//! With `tokio::time::pause` the clock is tokio's: a test decides when it
//! moves. While blocking work is under way, a current-thread runtime does not
//! advance by itself, so a test sees each capture finish at the instant it was
//! due. The *wall* clock is the system's and runs on at its own pace; a
//! recorder ends when either clock has reached the deadline, so that only
//! means that under paused time it is the monotonic one.

#![forbid(unsafe_code)]

mod clock;
mod offload;
mod snapshot;

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use tachograph_core::{Clock, Connection, Driver, Error, ErrorKind, Runtime};
use tokio::runtime::Handle;

pub use clock::TokioClock;
pub use offload::TokioOffload;
pub use snapshot::RuntimeSnapshot;

/// The tokio runtime that the recorder is started in.
///
/// ```
/// use tachograph_core::Runtime;
///
/// let runtime = tokio::runtime::Builder::new_current_thread()
///     .enable_time()
///     .build()?;
/// let connection = runtime.block_on(async { tachograph_tokio::tokio().connect() })?;
/// assert!(connection.snapshot_source.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tokio() -> Tokio {
    Tokio { _private: () }
}

/// The [`Runtime`] made by [`tokio()`].
///
/// Its [`connect`](Runtime::connect) fails with [`ErrorKind::NoRuntime`]
/// outside of a tokio runtime, and inside of one whose time driver is not
/// enabled. tokio can only be asked the latter by making a timer, which panics
/// if the answer is no: the panic is contained, but the process's panic hook
/// sees it, and under `panic = "abort"` it aborts.
#[derive(Clone, Copy, Debug)]
pub struct Tokio {
    _private: (),
}

impl Runtime for Tokio {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(TokioClock::new())
    }

    fn connect(&self) -> Result<Connection, Error> {
        let handle = current_handle()?;
        // Found out now: the first sleep would otherwise panic in the driver.
        if catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_err() {
            return Err(Error::new(
                ErrorKind::NoRuntime,
                "this tokio runtime has no timers: \
                 call enable_time() or enable_all() on its builder",
            ));
        }
        Ok(Connection {
            offload: Arc::new(TokioOffload::new(handle.clone())),
            snapshot_source: Some(Arc::new(RuntimeSnapshot::new(handle.clone()))),
            spawn: Box::new(move |driver: Driver| drop(handle.spawn(driver))),
        })
    }
}

/// The runtime that this code runs in.
fn current_handle() -> Result<Handle, Error> {
    Handle::try_current().map_err(|error| {
        Error::new(
            ErrorKind::NoRuntime,
            "no tokio runtime is running here: call start inside a tokio runtime, \
             for example below #[tokio::main] or in Runtime::block_on",
        )
        .with_source(error)
    })
}
