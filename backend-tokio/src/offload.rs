//! Blocking work on tokio's blocking pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_core::offload::Work;
use tachograph_core::{Error, Offload};
use tokio::runtime::Handle;

/// Sends blocking work to a runtime's blocking pool, from any thread, inside
/// of the runtime or not.
///
/// When the runtime is shutting down or gone, or the system refuses it a
/// thread, the work is dropped unrun on the calling thread. The latter is a
/// panic of tokio's: it is contained, but the process's panic hook sees it, and
/// under `panic = "abort"` it aborts.
///
/// ```
/// use tachograph_core::offload;
/// use tachograph_tokio::TokioOffload;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// let offload = TokioOffload::new(runtime.handle().clone());
/// let sum = runtime.block_on(offload::run(&offload, || 2 + 2))?;
/// assert_eq!(sum, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokioOffload {
    handle: Handle,
}

impl TokioOffload {
    /// Sends work to the runtime of `handle`, which this does not keep alive.
    pub fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Sends work to the runtime that this code runs in.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoRuntime`](tachograph_core::ErrorKind::NoRuntime) if
    /// there is none.
    pub fn current() -> Result<Self, Error> {
        crate::current_handle().map(Self::new)
    }
}

impl Offload for TokioOffload {
    fn spawn(&self, work: Work) {
        // What tokio was handed cannot be had back when it panics for want of
        // a thread, and would stay in its queue until some later thread comes:
        // a sampler would run on. So it is handed a slot that can be emptied.
        let slot = Arc::new(Slot(Mutex::new(Some(work))));
        let queued = Arc::clone(&slot);
        let spawned = catch_unwind(AssertUnwindSafe(|| {
            drop(self.handle.spawn_blocking(move || {
                if let Some(work) = queued.take() {
                    work();
                }
            }));
        }));
        if spawned.is_err() {
            drop(slot.take());
        }
    }
}

/// Work that is either run or taken back.
struct Slot(Mutex<Option<Work>>);

impl Slot {
    fn take(&self) -> Option<Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
