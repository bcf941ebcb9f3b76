//! What the process was doing, around a capture.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::offload::{self, Offload};
use crate::{Error, ErrorKind};

/// Says something about the process before and after a capture.
///
/// # Contract
///
/// [`snapshot`](Self::snapshot) must not block: a source whose work may block
/// does it through an [`Offload`](crate::Offload). It is dropped when it takes
/// longer than [`SNAPSHOT_TIME_MAX`](crate::SNAPSHOT_TIME_MAX) or when the
/// recorder is. An error, a panic or a time-out fails the capture and thereby
/// ends recording; the service is untouched. (A panic can be contained under
/// `panic = "unwind"` only.)
#[async_trait]
pub trait SnapshotSource: Send + Sync {
    /// Takes a snapshot of what this source knows; the rest stays `None`.
    async fn snapshot(&self) -> Result<Snapshot, Error>;
}

#[async_trait]
impl<S: SnapshotSource + ?Sized> SnapshotSource for Arc<S> {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        (**self).snapshot().await
    }
}

/// What was known of the process at one moment. In a sidecar the fields are
/// named as below, and what nobody could tell is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Snapshot {
    /// CPU time of the whole process since it started.
    #[serde(rename = "ProcessCPU", skip_serializing_if = "Option::is_none")]
    pub process_cpu: Option<ProcessCpu>,
    /// Tasks alive in the async runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Threads of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Worker threads of the async runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    /// Tasks waiting in the async runtime's global queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u64>,
    /// Whatever the application's own source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Value>,
}

impl Snapshot {
    /// This snapshot, with what only `other` knows added.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            process_cpu: self.process_cpu.or(other.process_cpu),
            tasks: self.tasks.or(other.tasks),
            threads: self.threads.or(other.threads),
            workers: self.workers.or(other.workers),
            queue_depth: self.queue_depth.or(other.queue_depth),
            pool: self.pool.or(other.pool),
        }
    }
}

/// CPU time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ProcessCpu {
    /// Seconds spent in user mode.
    pub user_seconds: f64,
    /// Seconds spent in the kernel.
    pub system_seconds: f64,
}

/// The application's own source: a closure that returns any JSON, which
/// becomes [`Snapshot::pool`]. It may block; it runs where blocking work goes.
pub struct Application<F> {
    offload: Arc<dyn Offload>,
    closure: Arc<F>,
}

impl<F: Fn() -> Value + Send + Sync + 'static> Application<F> {
    /// A source that asks `closure`, on `offload`.
    pub fn new(offload: Arc<dyn Offload>, closure: F) -> Self {
        Self {
            offload,
            closure: Arc::new(closure),
        }
    }
}

#[async_trait]
impl<F: Fn() -> Value + Send + Sync + 'static> SnapshotSource for Application<F> {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let closure = Arc::clone(&self.closure);
        match offload::run(&*self.offload, move || closure()).await {
            Ok(value) => Ok(Snapshot {
                pool: Some(value),
                ..Snapshot::default()
            }),
            Err(error) if error.kind() == ErrorKind::Panicked => Err(Error::new(
                ErrorKind::Snapshot,
                "the application's snapshot failed",
            )
            .with_source(error)),
            Err(error) => Err(error),
        }
    }
}

impl<F> fmt::Debug for Application<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Application").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    struct Refusing;

    impl Offload for Refusing {
        fn spawn(&self, work: offload::Work) {
            drop(work);
        }
    }

    #[test]
    fn a_runtime_that_shuts_down_is_not_the_applications_failure() {
        let application = Application::new(Arc::new(Refusing), || Value::Null);
        let refused = application.snapshot().now_or_never().expect("refused");
        let error = refused.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::ShuttingDown);
    }
}
