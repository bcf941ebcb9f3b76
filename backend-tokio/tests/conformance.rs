//! The core's contracts, held by the parts of this backend.

use std::sync::Arc;

use futures::future::BoxFuture;
use tachograph_core::testing::conformance;
use tachograph_tokio::{RuntimeSnapshot, TokioClock, TokioOffload};
use tokio::runtime::{Builder, Runtime};

type Task = BoxFuture<'static, ()>;

/// Calls `check` with the runtime, and with a way to run a future on it, for
/// every place where a future can run.
fn everywhere(check: impl Fn(&Runtime, &mut dyn FnMut(Task))) {
    let current_thread = Builder::new_current_thread().enable_time().build();
    let multi_thread = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    for runtime in [current_thread, multi_thread] {
        let runtime = runtime.expect("a runtime");
        check(&runtime, &mut |task| runtime.block_on(task));
        check(&runtime, &mut |task| {
            runtime.block_on(runtime.spawn(task)).expect("joined");
        });
    }
}

#[test]
fn the_clock() {
    everywhere(|_, block_on| conformance::clock(Arc::new(TokioClock::new()), block_on));
}

#[test]
fn the_clock_under_paused_time() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    conformance::clock(Arc::new(TokioClock::new()), &mut |task| {
        runtime.block_on(task);
    });
}

#[test]
fn the_offload() {
    everywhere(|runtime, block_on| {
        let offload = TokioOffload::new(runtime.handle().clone());
        conformance::offload(Arc::new(offload), block_on);
    });
}

#[test]
fn the_snapshot_source() {
    everywhere(|runtime, block_on| {
        let source = RuntimeSnapshot::new(runtime.handle().clone());
        conformance::snapshot_source(Arc::new(source), block_on);
    });
}
