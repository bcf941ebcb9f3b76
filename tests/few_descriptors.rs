//! A service that has run out of descriptors: a recorder that starts then, and
//! captures. The only test of its program, whose limit it changes.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use tachograph::{End, ErrorKind, Policy, State};
use tachograph_tests::{captures, in_an_hour};

const LIMIT: u64 = 64;

/// More than the private directory, its files, the sampler and symbols need.
const ENOUGH: usize = 16;

/// All descriptors but so many.
fn hoard(left: usize) -> Vec<File> {
    let mut hoard = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        hoard.push(file);
    }
    hoard.truncate(hoard.len() - left);
    hoard
}

fn set_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes to a structure that is there.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur = LIMIT;
    // SAFETY: the call reads a structure that is there.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!((got, set), (0, 0));
}

/// Records until a capture is saved or recording has ended.
fn record(directory: &Path, left: usize) -> Result<State, tachograph::Error> {
    let short = Duration::from_millis(300);
    let policy = Policy::builder()
        .capture_length(short)
        .cooldown(short)
        .build()
        .expect("valid");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("built");
    let hoard = hoard(left);
    let recorded = runtime.block_on(async {
        let recorder = tachograph::builder()
            .directory(directory)
            .until(in_an_hour())
            .policy(policy)
            .start(tachograph::tokio())?;
        loop {
            for round in 0..1_000_000_u64 {
                black_box(round);
            }
            let status = recorder.status();
            if status.captures > 0 || matches!(status.state, State::Ended(_)) {
                recorder.stop().await;
                return Ok(recorder.status().state);
            }
            tokio::task::yield_now().await;
        }
    });
    drop(hoard);
    recorded
}

#[test]
fn each_lack_is_told_and_leaves_nothing() {
    set_limit();
    let around = tempfile::tempdir().expect("a directory");
    let (mut refused, mut failed, mut saved) = (0, 0, 0);
    for left in (0..=6).chain([ENOUGH]) {
        let directory = around.path().join(left.to_string());
        let told = match record(&directory, left) {
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), ErrorKind::Directory, "{error}");
                assert!(!directory.exists());
                format!("{error:#}")
            }
            Ok(State::Ended(End::Failed { why })) => {
                failed += 1;
                assert!(captures(&directory).is_empty());
                why
            }
            Ok(state) => {
                saved += 1;
                assert_eq!(state, State::Ended(End::Stopped));
                // Each whole, and what its sidecar says.
                assert!(!captures(&directory).is_empty());
                continue;
            }
        };
        assert!(left < ENOUGH, "{told}");
        assert!(told.contains("Too many open files"), "{told}");
    }
    say(refused, failed, saved);
    assert!(refused > 0 && failed > 0 && saved > 0);
}

#[allow(clippy::print_stderr, reason = "it must be seen")]
fn say(refused: u32, failed: u32, saved: u32) {
    use std::io::Write as _;
    // Past the harness, which would swallow it.
    let _ = writeln!(
        std::io::stderr(),
        "few descriptors: {} recorders, {refused} refused, {failed} ended, {saved} saved, \
         0 failures",
        refused + failed + saved
    );
}
