//! A recorder's life on smol's executor and on one's own.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use smol::Executor;
use tachograph_core::testing::{MemoryDirectory, MemoryStore, ScriptedSampler};
use tachograph_core::{End, Parts, Recorder, Runtime, State, Window, offload};
use tachograph_smol::{Smol, SmolOffload, smol};

struct Started {
    recorder: Recorder,
    sampler: ScriptedSampler,
    directory: MemoryDirectory,
}

impl Started {
    fn on(backend: &Smol) -> Self {
        let connection = backend.connect().expect("smol is always there");
        assert!(connection.snapshot_source.is_none());
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
        Self {
            recorder,
            sampler,
            directory,
        }
    }

    async fn capturing(&self) {
        while !self.sampler.is_running() {
            smol::future::yield_now().await;
        }
    }

    fn assert_ended(&self, end: End, captures: usize) {
        assert_eq!(self.recorder.status().state, State::Ended(end));
        assert_eq!(self.directory.names().len(), 2 * captures);
        assert!(!self.sampler.is_running() && !self.directory.is_held());
    }
}

#[test]
fn a_recorder_on_the_global_executor_that_is_stopped_keeps_its_capture() {
    let started = Started::on(&smol());
    smol::block_on(started.capturing());
    smol::block_on(started.recorder.stop());
    started.assert_ended(End::Stopped, 1);
}

#[test]
fn a_recorder_on_an_executor_of_ones_own_runs_there_and_nowhere_else() {
    let executor = Arc::new(Executor::new());
    let started = Started::on(&Smol::on(Arc::clone(&executor)));
    assert!(!executor.is_empty());
    smol::block_on(executor.run(started.capturing()));
    smol::block_on(executor.run(started.recorder.stop()));
    started.assert_ended(End::Stopped, 1);
}

#[test]
fn an_executor_that_is_dropped_takes_the_recorder_along() {
    let executor = Arc::new(Executor::new());
    let started = Started::on(&Smol::on(Arc::clone(&executor)));
    smol::block_on(executor.run(started.capturing()));
    drop(executor);
    smol::block_on(started.recorder.stop());
    started.assert_ended(End::Abandoned, 0);
}

#[test]
fn work_comes_from_any_thread() {
    let foreign = thread::spawn(|| smol::future::block_on(offload::run(&SmolOffload::new(), || 7)));
    assert_eq!(foreign.join().expect("no panic").expect("ran"), 7);
}
