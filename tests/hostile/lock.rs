//! One recorder at a time, across processes and their deaths.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tachograph::testing::{InlineOffload, ManualClock, ScriptedSampler};
use tachograph::{ErrorKind, Recorder, State};
use tachograph_tests::in_an_hour;

use crate::process::{Process, answer, played, told};
use crate::{names, turn};

/// Starts a recorder that never gets further than its start.
fn is_in_use(directory: &Path) -> bool {
    let started = tachograph::builder()
        .directory(directory)
        .until(in_an_hour())
        .sampler(ScriptedSampler::new())
        .build(ManualClock::new(SystemTime::now()), InlineOffload);
    match started {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
            assert!(error.to_string().contains("another recorder"), "{error}");
            true
        }
    }
}

/// A process in the middle of a real capture.
fn recording(test: &str) -> (tempfile::TempDir, PathBuf, Process) {
    let around = tempfile::tempdir().expect("a directory");
    let directory = around.path().join("profiles");
    let mut process = Process::start(test, &directory, None);
    assert_eq!(process.hear(), "recording");
    assert_eq!(names(&directory).len(), 1);
    (around, directory, process)
}

/// In that process.
fn record(directory: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("built");
    runtime.block_on(async {
        let recorder = tachograph::builder()
            .directory(directory)
            .until(in_an_hour())
            .start(tachograph::tokio())
            .expect("it is free");
        while tachograph_core::SamplingGuard::acquire().is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        answer("recording");
        for line in told() {
            assert_eq!(line, "fork");
            fork(&recorder);
        }
    });
}

/// Makes a child that has no program of its own: it tries what it can with its
/// copy of the recorder, says what came of it, and stays.
fn fork(recorder: &Recorder) {
    // SAFETY: the child shares no lock with threads that are gone in it: it
    // uses the recorder, which compares the process first, and the streams of
    // this thread. It ends by a signal, without running what is its parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    if child == 0 {
        let is_off = recorder.status().state == State::Off;
        let is_accepted = recorder.request("by hand").is_ok();
        let has_stopped = futures::FutureExt::now_or_never(recorder.stop()).is_some();
        // SAFETY: the call takes no pointers.
        let process = unsafe { libc::getpid() };
        answer(&format!(
            "{process} {}",
            is_off && is_accepted && has_stopped
        ));
        loop {
            // SAFETY: the call takes no pointers.
            unsafe { libc::pause() };
        }
    }
}

#[test]
fn it_frees_itself_when_its_holder_is_killed() {
    const TEST: &str = "lock::it_frees_itself_when_its_holder_is_killed";
    if let Some(directory) = played() {
        return record(&directory);
    }
    let _turn = turn();
    let (_around, directory, holder) = recording(TEST);
    for _ in 0..100 {
        assert!(is_in_use(&directory));
    }
    let partial = names(&directory);
    holder.kill();
    assert!(!is_in_use(&directory));
    // The refused ones have touched nothing.
    assert_eq!(names(&directory), partial);
}

#[test]
fn a_child_forked_without_exec_keeps_it_and_does_nothing_with_it() {
    const TEST: &str = "lock::a_child_forked_without_exec_keeps_it_and_does_nothing_with_it";
    if let Some(directory) = played() {
        return record(&directory);
    }
    let _turn = turn();
    let (_around, directory, mut holder) = recording(TEST);
    holder.tell("fork");
    let said = holder.hear();
    let (child, is_inert) = said.split_once(' ').expect("two words");
    assert_eq!(is_inert, "true");
    let child: libc::pid_t = child.parse().expect("a process");
    let partial = names(&directory);
    assert_eq!(partial.len(), 1, "the parent's capture goes on");
    assert_ne!(u32::try_from(child), Ok(holder.id()));
    holder.kill();
    assert!(is_in_use(&directory), "the child has lost the lock");

    // SAFETY: the call takes no pointers. The child is there: nobody but this
    // test ends it.
    assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
    let opened = fs::File::open(&directory).expect("it stands there");
    opened.lock().expect("waits until the child is gone");
    drop(opened);
    assert!(!is_in_use(&directory));
    assert_eq!(names(&directory), partial);
}
