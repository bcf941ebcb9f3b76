use std::sync::Arc;

use futures::FutureExt;

use super::BlockOn;
use crate::{Snapshot, SnapshotSource};

/// The contract of [`SnapshotSource`].
///
/// # Panics
///
/// If `source` breaks it.
pub fn snapshot_source(source: Arc<dyn SnapshotSource>, block_on: BlockOn<'_>) {
    block_on(
        async move {
            let before = source.snapshot().await.expect("the first snapshot");
            let after = source.snapshot().await.expect("the second snapshot");
            if let (Some(before), Some(after)) = (before.process_cpu, after.process_cpu) {
                assert!(after.user_seconds >= before.user_seconds);
                assert!(after.system_seconds >= before.system_seconds);
            }
            let json = serde_json::to_string(&after).expect("a snapshot is JSON");
            let read: Snapshot = serde_json::from_str(&json).expect("JSON is a snapshot");
            assert_eq!(read, after);
        }
        .boxed(),
    );
}
