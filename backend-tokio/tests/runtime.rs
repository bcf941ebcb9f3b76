//! Finding the runtime, and a recorder's life on it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tachograph_core::testing::{MemoryDirectory, MemoryStore, ScriptedSampler};
use tachograph_core::{
    Driver, End, ErrorKind, Parts, Recorder, Runtime as _, Snapshot, SnapshotSource, State, Window,
};
use tachograph_tokio::{RuntimeSnapshot, tokio};
use tokio::runtime::{Builder, Runtime};

fn current_thread() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_time()
        .build()
        .expect("a runtime")
}

#[test]
fn outside_of_a_runtime_is_an_error_that_says_what_to_do() {
    let error = tokio().connect().expect_err("there is no runtime");
    assert_eq!(error.kind(), ErrorKind::NoRuntime);
    assert!(error.to_string().contains("inside a tokio runtime"));

    let error = RuntimeSnapshot::current().expect_err("there is no runtime");
    assert_eq!(error.kind(), ErrorKind::NoRuntime);
}

#[test]
fn a_runtime_without_timers_is_an_error_that_says_what_to_do() {
    for runtime in [
        Builder::new_current_thread().build().expect("a runtime"),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime"),
    ] {
        let error = runtime
            .block_on(async { tokio().connect() })
            .expect_err("there are no timers");
        assert_eq!(error.kind(), ErrorKind::NoRuntime);
        assert!(error.to_string().contains("enable_time"));
    }
}

/// A recorder in the middle of its first capture, and what it works on.
async fn capturing() -> (Recorder, ScriptedSampler, MemoryDirectory) {
    let backend = tokio();
    let connection = backend.connect().expect("a runtime with timers");
    let wall = SystemTime::now();
    let window = Window::until(wall + Duration::from_secs(3600), wall);
    let sampler = ScriptedSampler::new();
    let directory = MemoryDirectory::new();
    let (recorder, driver) = Recorder::new(Parts::new(
        window.expect("a valid one").expect("an open one"),
        backend.clock(),
        connection.offload,
        Arc::new(sampler.clone()),
        Box::new(MemoryStore::open(&directory).expect("a free place")),
    ))
    .expect("an acceptable frequency");
    (connection.spawn)(driver);
    while !sampler.is_running() {
        tokio::task::yield_now().await;
    }
    (recorder, sampler, directory)
}

#[test]
fn a_recorder_that_is_stopped_keeps_its_capture() {
    for runtime in [current_thread(), multi_thread(2)] {
        runtime.block_on(async {
            let (recorder, sampler, directory) = capturing().await;
            recorder.stop().await;
            assert_eq!(recorder.status().state, State::Ended(End::Stopped));
            assert_eq!(directory.captures().len(), 1);
            assert!(!sampler.is_running() && !directory.is_held());
        });
    }
}

#[test]
fn a_runtime_that_is_dropped_takes_the_recorder_along() {
    for runtime in [current_thread(), multi_thread(2)] {
        let (recorder, sampler, directory) = runtime.block_on(capturing());
        drop(runtime);
        assert_eq!(recorder.status().state, State::Ended(End::Abandoned));
        assert!(directory.names().is_empty());
        assert!(!sampler.is_running() && !directory.is_held());
    }
}

#[test]
fn spawning_after_the_runtime_only_drops_the_driver() {
    let runtime = current_thread();
    let connection = runtime
        .block_on(async { tokio().connect() })
        .expect("a runtime with timers");
    drop(runtime);
    (connection.spawn)(Driver::inert());
}

#[test]
fn a_snapshot_tells_of_its_runtime() {
    for (runtime, workers) in [(current_thread(), 1), (multi_thread(3), 3)] {
        let source = RuntimeSnapshot::new(runtime.handle().clone());
        for _ in 0..2 {
            runtime.spawn(std::future::pending::<()>());
        }
        let snapshot = runtime.block_on(source.snapshot()).expect("infallible");
        assert_eq!(snapshot.tasks, Some(2));
        assert_eq!(snapshot.workers, Some(workers));
        assert!(snapshot.queue_depth.is_some());
        let rest = Snapshot {
            tasks: None,
            workers: None,
            queue_depth: None,
            ..snapshot
        };
        assert_eq!(rest, Snapshot::default());
    }
}

#[test]
fn tasks_that_nobody_runs_wait_in_the_queue() {
    let runtime = current_thread();
    let source = RuntimeSnapshot::new(runtime.handle().clone());
    for _ in 0..2 {
        runtime.spawn(async {});
    }
    let snapshot = futures::executor::block_on(source.snapshot()).expect("infallible");
    assert_eq!(snapshot.queue_depth, Some(2));
}
