//! What a tokio runtime knows of itself.

use tachograph_core::{Error, Snapshot, SnapshotSource, async_trait};
use tokio::runtime::Handle;

/// Tells how many tasks are alive in a runtime (the recorder's own is one of
/// them), how many workers it has (1 for a current-thread runtime), and how
/// many tasks wait in its global queue.
///
/// These are the metrics that tokio has promised to keep. They are read one
/// after the other from counters that other threads change, so they need not
/// be of exactly the same moment. Reading them takes no lock for longer than a
/// few instructions and cannot fail; of a runtime that is gone they are what
/// it left behind.
///
/// ```
/// use tachograph_core::SnapshotSource;
/// use tachograph_tokio::RuntimeSnapshot;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// let source = RuntimeSnapshot::new(runtime.handle().clone());
/// let snapshot = runtime.block_on(source.snapshot())?;
/// assert_eq!(snapshot.workers, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RuntimeSnapshot {
    handle: Handle,
}

impl RuntimeSnapshot {
    /// Tells of the runtime of `handle`, which this does not keep alive.
    pub fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Tells of the runtime that this code runs in.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoRuntime`](tachograph_core::ErrorKind::NoRuntime) if
    /// there is none.
    pub fn current() -> Result<Self, Error> {
        crate::current_handle().map(Self::new)
    }
}

#[async_trait]
impl SnapshotSource for RuntimeSnapshot {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let metrics = self.handle.metrics();
        Ok(Snapshot {
            tasks: Some(metrics.num_alive_tasks() as u64),
            workers: Some(metrics.num_workers() as u64),
            queue_depth: Some(metrics.global_queue_depth() as u64),
            ..Snapshot::default()
        })
    }
}
