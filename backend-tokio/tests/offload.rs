//! Blocking work when the runtime is not at its best.

use std::sync::mpsc;
use std::thread;

use futures::executor::block_on;
use tachograph_core::offload::run;
use tachograph_core::{ErrorKind, Offload};
use tachograph_tokio::TokioOffload;
use tokio::runtime::{Builder, Runtime};

fn both() -> [Runtime; 2] {
    [
        Builder::new_current_thread().build().expect("a runtime"),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime"),
    ]
}

#[test]
fn work_comes_from_any_thread() {
    for runtime in both() {
        let offload = TokioOffload::new(runtime.handle().clone());
        let foreign = thread::spawn(move || block_on(run(&offload, || 7)));
        assert_eq!(foreign.join().expect("no panic").expect("ran"), 7);
    }
}

#[test]
fn after_the_runtime_work_is_dropped_unrun() {
    for runtime in both() {
        let offload = TokioOffload::new(runtime.handle().clone());
        drop(runtime);

        let (sender, receiver) = mpsc::channel();
        offload.spawn(Box::new(move || {
            let _ = sender.send("ran");
        }));
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));

        let refused = block_on(run(&offload, || 7)).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::ShuttingDown);
    }
}

#[test]
fn work_is_not_forgotten_by_a_runtime_that_shuts_down() {
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .expect("a runtime");
    let offload = TokioOffload::new(runtime.handle().clone());

    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let running = run(&offload, move || {
        begun.send(()).expect("awaited");
        let _ = released.recv();
    });
    has_begun.recv().expect("the only thread is taken");
    let queued = run(&offload, || ());

    runtime.shutdown_background();
    drop(release);
    block_on(running).expect("what has begun is finished");
    // tokio promises neither, but one of the two.
    match block_on(queued) {
        Ok(()) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ShuttingDown),
    }
}

/// A stack larger than the address space is the one way to be refused a thread
/// that disturbs nobody else.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn without_a_thread_work_is_dropped_unrun() {
    let runtime = Builder::new_current_thread()
        .thread_stack_size(1 << 47)
        .build()
        .expect("a runtime");
    let offload = TokioOffload::new(runtime.handle().clone());

    let (sender, receiver) = mpsc::channel();
    offload.spawn(Box::new(move || {
        let _ = sender.send("ran");
    }));
    assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn the_present_runtime_is_found() {
    for runtime in both() {
        let offload = runtime.block_on(async { TokioOffload::current() });
        let offload = offload.expect("inside of a runtime");
        assert_eq!(runtime.block_on(run(&offload, || 7)).expect("ran"), 7);
    }
    let outside = TokioOffload::current().expect_err("outside of a runtime");
    assert_eq!(outside.kind(), ErrorKind::NoRuntime);
}
