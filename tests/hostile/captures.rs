//! Somebody tries everything at every moment of real captures.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tachograph::{End, Policy, Recorder, State};
use tachograph_tests::in_an_hour;

use crate::attempts::{ATTEMPTS, BAIT, Target};
use crate::intruder::{Intruder, Report, play};
use crate::{is_root, names, process, say, set_mode, turn};

const CAPTURES: u64 = 3;

type Watched = Arc<Mutex<Intruder>>;

/// Lets the intruder try everything at this moment.
fn moment(intruder: &Watched, directory: &Path) {
    let mut intruder = intruder.lock().unwrap_or_else(PoisonError::into_inner);
    intruder.try_everything(&names(directory));
}

/// Captures back to back; around each the intruder has its moment.
fn start(directory: &Path, intruder: &Watched) -> Recorder {
    let short = Duration::from_millis(200);
    let policy = Policy::builder()
        .capture_length(short)
        .cooldown(short)
        .interval(short)
        .build()
        .expect("valid");
    let (seen, path) = (Arc::clone(intruder), directory.to_owned());
    tachograph::builder()
        .directory(directory)
        .until(in_an_hour())
        .policy(policy)
        .snapshot(move || {
            moment(&seen, &path);
            serde_json::Value::Null
        })
        .start(tachograph::tokio())
        .expect("it starts")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("built")
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn is_sampling() -> bool {
    tachograph_core::SamplingGuard::acquire().is_err()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let around = tempfile::tempdir().expect("a directory");
    set_mode(around.path(), 0o755);
    let directory = around.path().join("profiles");
    (around, directory)
}

#[test]
fn nothing_is_read_written_or_followed_at_any_moment_of_a_capture() {
    const TEST: &str = "captures::nothing_is_read_written_or_followed_at_any_moment_of_a_capture";
    if let Some(around) = process::played() {
        return play(&around);
    }
    let _turn = turn();
    let (around, directory) = place();
    if !is_root(around.path()) {
        return;
    }
    let intruder = Arc::new(Mutex::new(Intruder::start(TEST, around.path())));
    runtime().block_on(async {
        let recorder = start(&directory, &intruder);
        moment(&intruder, &directory);
        until(is_sampling).await;
        moment(&intruder, &directory);
        until(|| recorder.status().captures >= CAPTURES || has_ended(&recorder)).await;
        moment(&intruder, &directory);
        recorder.stop().await;
        let state = recorder.status().state;
        assert_eq!(state, State::Ended(End::Stopped));
    });
    moment(&intruder, &directory);
    let report = stop(intruder);
    // Insists that each is whole, private, and what its sidecar says.
    let captures = tachograph_tests::captures(&directory).len();
    say(&format!(
        "another user: {} attempts in {captures} captures, {} failures",
        report.attempts,
        report.successes.values().sum::<u64>()
    ));
    assert!(report.successes.is_empty(), "{:?}", report.successes);
    assert!(captures as u64 >= CAPTURES);
    assert!(report.attempts > CAPTURES * ATTEMPTS.len() as u64);
    assert_eq!(names(&around.path().join("own")), ["bait"]);
    let bait = fs::read_to_string(around.path().join("own/bait"));
    assert_eq!(bait.expect("readable"), BAIT);
    assert_eq!(names(around.path()), ["own", "profiles"]);
}

fn has_ended(recorder: &Recorder) -> bool {
    matches!(recorder.status().state, State::Ended(_))
}

fn stop(intruder: Watched) -> Report {
    let intruder = Arc::into_inner(intruder).expect("the recorder is gone");
    let intruder = intruder.into_inner();
    intruder.unwrap_or_else(PoisonError::into_inner).stop()
}

#[test]
fn a_directory_that_is_opened_to_all_would_be_noticed() {
    const TEST: &str = "captures::a_directory_that_is_opened_to_all_would_be_noticed";
    if let Some(around) = process::played() {
        return play(&around);
    }
    let _turn = turn();
    let (around, directory) = place();
    if !is_root(around.path()) {
        return;
    }
    let intruder = Arc::new(Mutex::new(Intruder::start(TEST, around.path())));
    runtime().block_on(async {
        let recorder = start(&directory, &intruder);
        set_mode(&directory, 0o777);
        moment(&intruder, &directory);
        recorder.stop().await;
    });
    let report = stop(intruder);
    for what in ["list", "open", "enter", "lock", "watch", "make a file"] {
        assert!(report.successes.contains_key(what), "{what}: {report:?}");
    }
}

#[test]
fn each_attempt_that_succeeds_would_be_noticed() {
    const TEST: &str = "captures::each_attempt_that_succeeds_would_be_noticed";
    if let Some(around) = process::played() {
        return play_at_home(&around);
    }
    let around = tempfile::tempdir().expect("a directory");
    if !is_root(around.path()) {
        return;
    }
    set_mode(around.path(), 0o777);
    let mut child = process::Process::start(TEST, around.path(), Some(crate::NOBODY));
    for (what, _) in ATTEMPTS {
        assert_eq!(child.hear(), format!("{what}: Ok(())"));
    }
    child.join();
}

/// Tries each on what is its own.
fn play_at_home(around: &Path) {
    for (number, (what, attempt)) in ATTEMPTS.into_iter().enumerate() {
        let own = around.join(number.to_string());
        let directory = own.join("profiles");
        fs::create_dir_all(&directory).expect("created");
        let entry = "20261130T073220.147230271Z.pprof.partial".to_owned();
        fs::write(directory.join(&entry), "").expect("written");
        let _held = File::open(directory.join(&entry)).expect("readable");
        let target = Target {
            directory,
            entry,
            process: std::process::id(),
            own,
        };
        process::answer(&format!("{what}: {:?}", attempt(&target)));
    }
}
