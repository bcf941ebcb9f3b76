//! A forked child: its copies of a recorder do nothing, and the parent's goes
//! on undisturbed.

#![cfg(unix)]

use std::io::Read;
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use tachograph::testing::{InlineOffload, ManualClock, ScriptedSampler, Simulation};
use tachograph::{End, Instant, State};

/// Runs `work` in a forked child, and panics here if it panics there.
fn in_child(work: impl FnOnce()) {
    let mut ends = [0; 2];
    // SAFETY: the call writes two descriptors to a place that has room for
    // them.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: this test program has no other thread that holds a lock: each
    // test file is a program of its own, and this is its only test. The child
    // leaves by `_exit`, without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(work)).is_ok();
        let byte = u8::from(done);
        // SAFETY: it reads one byte that is there.
        unsafe { libc::write(ends[1], (&raw const byte).cast(), 1) };
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: both descriptors are ours, and each is given to one owner.
    let mut reader = unsafe {
        libc::close(ends[1]);
        std::fs::File::from_raw_fd(ends[0])
    };
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).expect("readable");
    // SAFETY: it waits for our own child and writes nowhere.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!(answer, [1], "the child panicked");
}

#[test]
fn copies_in_the_child_are_inert() {
    let around = tempfile::tempdir().expect("a directory");
    let directory = around.path().join("profiles");
    let wall = SystemTime::now();
    let clock = ManualClock::new(wall);
    let sampler = ScriptedSampler::new();
    let (recorder, driver) = tachograph::builder()
        .directory(&directory)
        .until(tachograph_tests::in_an_hour())
        .sampler(sampler.clone())
        .build(clock.clone(), InlineOffload)
        .expect("it starts");
    let mut simulation = Simulation::new(clock.clone());
    simulation.spawn(driver);
    simulation.run_until(Instant::from_origin(Duration::from_secs(1)));
    assert!(sampler.is_running());
    let staged = names(&directory);
    assert_eq!(staged.len(), 1);

    let guard = tachograph_core::SamplingGuard::acquire().expect("free");

    let mut recorder = Some(recorder);
    let mut simulation = Some(simulation);
    in_child(|| {
        let recorder = recorder.take().expect("it is there");
        assert_eq!(recorder.status().state, State::Off);
        recorder.request("compaction").expect("accepted");
        recorder
            .request("")
            .expect("an inert recorder accepts anything");
        let label = || tachograph_core::labels::current().name();
        assert_eq!(recorder.blocking_task("compaction", label), None);
        // Nobody samples this process.
        drop(tachograph_core::SamplingGuard::acquire().expect("free"));
        assert!(
            recorder.stop().now_or_never().is_some(),
            "stop waits for the parent"
        );
        assert_eq!(
            recorder.task("compaction", async { 1 }).now_or_never(),
            Some(1)
        );
        // Also a driver that goes on being polled, and is dropped then.
        let mut simulation = simulation.take().expect("it is there");
        clock.advance(Duration::from_secs(60));
        simulation.settle();
        drop(simulation);
        drop(recorder);
        assert_eq!(names(&directory), staged);
    });

    tachograph_core::SamplingGuard::acquire().expect_err("still ours");
    drop(guard);

    // The parent: the lock is held, the capture goes on and is kept.
    assert_eq!(names(&directory), staged);
    tachograph::PosixStore::open(&directory).expect_err("still locked");
    let recorder = recorder.take().expect("the parent's");
    let mut simulation = simulation.take().expect("the parent's");
    simulation.run_until(Instant::from_origin(Duration::from_secs(60)));
    assert_eq!(recorder.status().captures, 1);
    assert_eq!(recorder.status().dropped.cooldown, 0);
    assert!(simulation.run_to_end(recorder.stop()));
    assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    assert_eq!(names(&directory).len(), 2);
}

fn names(directory: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
