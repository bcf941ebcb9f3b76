//! What the operating system knows of the process: CPU time and threads.
//!
//! | | Linux | macOS | elsewhere |
//! |---|---|---|---|
//! | `ProcessCPU`, from `getrusage`, in microseconds | yes | yes | left out |
//! | `Threads`, from `/proc/self/status` | yes | left out | left out |
//!
//! macOS tells the number of threads through Mach calls only, which would take
//! unsafe code for one number. A Linux without `/proc` leaves `Threads` out as
//! well: what cannot be told is not an error.

#![forbid(unsafe_code)]

mod system;

use std::fmt;
use std::sync::Arc;

use tachograph_core::{Error, Offload, Snapshot, SnapshotSource, async_trait, offload};

/// Tells the CPU time that the process has used since it started, with all its
/// threads past and present but not its children, and how many threads it has
/// now. The threads of the runtime count too, also the one that reads.
///
/// The system is asked where blocking work goes: `/proc` is memory, but the
/// kernel walks through all threads of the process for an answer.
///
/// A snapshot fails only if the blocking work does not run, as
/// [`offload::run`] says.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_core::offload::Work;
/// use tachograph_core::{Offload, SnapshotSource};
/// use tachograph_process::ProcessSnapshot;
///
/// struct OnAThread;
///
/// impl Offload for OnAThread {
///     fn spawn(&self, work: Work) {
///         std::thread::spawn(work);
///     }
/// }
///
/// let source = ProcessSnapshot::new(Arc::new(OnAThread));
/// let snapshot = futures::executor::block_on(source.snapshot())?;
/// if cfg!(any(target_os = "linux", target_os = "macos")) {
///     assert!(snapshot.process_cpu.is_some());
/// }
/// # Ok::<(), tachograph_core::Error>(())
/// ```
pub struct ProcessSnapshot {
    offload: Arc<dyn Offload>,
}

impl ProcessSnapshot {
    /// A source that asks the system on `offload`.
    pub fn new(offload: Arc<dyn Offload>) -> Self {
        Self { offload }
    }
}

#[async_trait]
impl SnapshotSource for ProcessSnapshot {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        offload::run(&*self.offload, || Snapshot {
            process_cpu: system::cpu(),
            threads: system::threads(),
            ..Snapshot::default()
        })
        .await
    }
}

impl fmt::Debug for ProcessSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessSnapshot").finish_non_exhaustive()
    }
}
