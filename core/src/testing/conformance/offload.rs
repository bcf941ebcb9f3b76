use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use futures::channel::mpsc;
use futures::future::join_all;
use futures::stream::StreamExt;

use super::BlockOn;
use crate::offload::{Offload, run};
use crate::{Error, ErrorKind};

/// The contract of [`Offload`], for a runtime that is not shutting down.
///
/// # Panics
///
/// If `offload` breaks it.
pub fn offload(offload: Arc<dyn Offload>, block_on: BlockOn<'_>) {
    let results = offload.clone();
    block_on(
        async move {
            let all = join_all((0..100_u32).map(|n| run(&*results, move || n * n))).await;
            for (n, result) in (0..100_u32).zip(all) {
                assert_eq!(result.expect("work was refused"), n * n);
            }
        }
        .boxed(),
    );

    let panicking = offload.clone();
    block_on(
        async move {
            let panicked: Result<(), Error> = run(&*panicking, || panic!("expected")).await;
            assert_eq!(
                panicked.expect_err("a panic is an error").kind(),
                ErrorKind::Panicked
            );
            let after = run(&*panicking, || 1).await;
            assert_eq!(after.expect("a panic must not end the offload"), 1);
        }
        .boxed(),
    );

    // Work whose result nobody waits for is done all the same, once.
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    block_on(
        async move {
            let (done, mut all_done) = mpsc::unbounded();
            for _ in 0..10 {
                let counted = counted.clone();
                let done = done.clone();
                drop(run(&*offload, move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    drop(done);
                }));
            }
            drop(done);
            let none: Option<()> = all_done.next().await;
            assert!(none.is_none());
        }
        .boxed(),
    );
    assert_eq!(runs.load(Ordering::SeqCst), 10);
}
