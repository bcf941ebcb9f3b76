//! Every way to set a recorder up wrongly: an error that names the setting,
//! quotes the value and says what would be right, and nothing is changed.

#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tachograph::testing::{InlineOffload, ManualClock, MemoryStore, ScriptedSampler};
use tachograph::{Builder, Error, ErrorKind, Policy, PprofSampler, Recorder, State, Timestamp};

const NOW: &str = "2026-11-30T07:32:20Z";
const SOON: &str = "2026-11-30T08:00:00Z";

fn now() -> SystemTime {
    let now: Timestamp = NOW.parse().expect("well formed");
    now.system_time()
}

fn build(builder: Builder) -> Result<Recorder, Error> {
    let (recorder, driver) = builder.build(ManualClock::new(now()), InlineOffload)?;
    drop(driver);
    Ok(recorder)
}

fn with_directory(path: impl Into<OsString>) -> Result<Recorder, Error> {
    build(
        tachograph::builder()
            .directory(path)
            .until(SOON)
            .sampler(ScriptedSampler::new()),
    )
}

/// Insists that `result` is an error of this kind that says all of `said`.
fn refused(result: Result<Recorder, Error>, kind: ErrorKind, said: &[&str]) {
    let error = result.expect_err("it is wrong");
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for said in said {
        assert!(message.contains(said), "{message:?} does not say {said:?}");
    }
}

/// All that stands below `path`, with what a refusal might change.
fn everything(path: &Path) -> Vec<(PathBuf, u32, u64, i64)> {
    let mut found = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let stat = fs::symlink_metadata(&path).expect("it exists");
        if stat.is_dir() {
            let entries = fs::read_dir(&path).expect("it can be listed");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        found.push((path, stat.mode(), stat.ino(), stat.mtime_nsec()));
    }
    found.sort();
    found
}

#[test]
fn settings() {
    let on = || {
        tachograph::builder()
            .store(MemoryStore::new())
            .sampler(ScriptedSampler::new())
    };
    for (directory, until, said) in [
        ("/d", "", &["\"/d\"", "until is not set", "RFC 3339"][..]),
        ("", SOON, &[SOON, "directory is not set", "absolute path"]),
        ("/d", "tomorrow", &["until: \"tomorrow\"", "RFC 3339"]),
        (
            "/d",
            "2026-11-30t08:00:00z",
            &["2026-11-30t08:00:00z", "upper-case"],
        ),
        ("/d", "2026-11-30T08:00:60Z", &["08:00:60Z", "leap second"]),
        (
            "/d",
            "2026-12-03T07:32:21Z",
            &["until", "2026-12-03T07:32:21Z", "72 h"],
        ),
    ] {
        let builder = on().directory(directory).until(until);
        refused(build(builder), ErrorKind::Setting, said);
    }
    // Off, whatever else is wrong: nothing is looked at.
    for (directory, until) in [
        ("", ""),
        ("relative", NOW),
        ("relative", "2000-01-01T00:00:00Z"),
    ] {
        let builder = on().directory(directory).until(until).trigger("periodic");
        let recorder = build(builder).expect("off");
        assert_eq!(recorder.status().state, State::Off);
    }
    // The environment's names are what its errors say.
    let not_utf8 = OsStr::from_bytes(b"2026-\xff");
    let builder = tachograph::from_env().directory("/d").until(not_utf8);
    refused(
        build(builder),
        ErrorKind::Setting,
        &["TACHOGRAPH_UNTIL: \"2026-\u{fffd}\""],
    );
    let builder = tachograph::from_env().directory("relative").until(SOON);
    refused(
        build(builder),
        ErrorKind::Setting,
        &["TACHOGRAPH_DIR: ", "\"relative\""],
    );
}

#[test]
fn directories() {
    let around = tempfile::tempdir().expect("a directory");
    let at = |name: &str| around.path().join(name);
    fs::create_dir(at("private")).expect("created");
    fs::set_permissions(at("private"), fs::Permissions::from_mode(0o700)).expect("set");
    for (name, mode) in [("group", 0o750), ("world", 0o701), ("open", 0o777)] {
        fs::create_dir(at(name)).expect("created");
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("set");
    }
    fs::write(at("file"), "content").expect("written");
    symlink(at("private"), at("link")).expect("linked");
    let before = everything(around.path());

    let mut cases = vec![
        (at("link"), vec!["symlink"]),
        (at("link/"), vec!["symlink"]),
        (at("link/."), vec!["symlink"]),
        (at("link//./"), vec!["symlink"]),
        (at("file"), vec!["a regular file"]),
        (at("file/below"), vec!["cannot be"]),
        (at("group"), vec!["mode 0750", "0700"]),
        (at("world"), vec!["mode 0701", "0700"]),
        (at("open"), vec!["mode 0777", "0700"]),
        (
            "/proc/tachograph/profiles".into(),
            vec!["cannot be created"],
        ),
    ];
    if fs::metadata(around.path()).expect("it exists").uid() == 0 {
        fs::create_dir(at("theirs")).expect("created");
        fs::set_permissions(at("theirs"), fs::Permissions::from_mode(0o700)).expect("set");
        chown(at("theirs"), Some(65_534), None).expect("root may");
        cases.push((at("theirs"), vec!["user 65534"]));
    } else {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: needs root, to make someone else's directory"
        );
    }
    let before = if at("theirs").exists() {
        everything(around.path())
    } else {
        before
    };
    for (path, mut said) in cases {
        let quoted = format!("{:?}", path.to_string_lossy().trim_end_matches(['/', '.']));
        said.push(&quoted);
        said.push("directory");
        refused(with_directory(&path), ErrorKind::Directory, &said);
    }
    for (path, said) in [
        (PathBuf::from("relative/path"), "absolute"),
        (at("private/.."), ".."),
        (at("new/.."), ".."),
    ] {
        refused(
            with_directory(path),
            ErrorKind::Setting,
            &[said, "directory"],
        );
    }
    assert_eq!(everything(around.path()), before);
}

#[test]
fn a_directory_in_use() {
    let around = tempfile::tempdir().expect("a directory");
    let path = around.path().join("profiles");
    let (first, _driver) = tachograph::builder()
        .directory(&path)
        .until(SOON)
        .sampler(ScriptedSampler::new())
        .build(ManualClock::new(now()), InlineOffload)
        .expect("it is free");
    let quoted = format!("{path:?}");
    refused(
        with_directory(&path),
        ErrorKind::InUse,
        &[&quoted, "another recorder"],
    );
    drop(first);
}

#[test]
fn a_path_that_is_not_utf8_works() {
    let around = tempfile::tempdir().expect("a directory");
    let path = around.path().join(OsStr::from_bytes(b"profiles-\xff"));
    with_directory(&path).expect("it works");
    assert!(path.is_dir());
}

#[test]
fn triggers_and_frequencies_leave_no_directory() {
    let around = tempfile::tempdir().expect("a directory");
    let path = around.path().join("profiles");
    let builder = || tachograph::builder().directory(&path).until(SOON);
    let long = "x".repeat(65);
    for (name, said) in [
        ("", "is empty"),
        ("periodic", "reserved"),
        ("tab\there", "control character"),
        (&*long, "too long"),
    ] {
        let quoted = format!("{:?}", name.chars().take(64).collect::<String>());
        let builder = builder().sampler(ScriptedSampler::new()).trigger(name);
        refused(
            build(builder),
            ErrorKind::Setting,
            &["trigger: ", &quoted, said, "1 to 64"],
        );
    }
    let policy = Policy::builder().frequency_hz(101).build().expect("valid");
    let builder = builder().sampler(PprofSampler::new()).policy(policy);
    refused(
        build(builder),
        ErrorKind::Setting,
        &["frequency_hz is 101", "pprof", "100 Hz"],
    );
    assert!(!path.exists());
}

#[test]
fn a_runtime_that_is_not_there() {
    let around = tempfile::tempdir().expect("a directory");
    let path = around.path().join("profiles");
    let soon = tachograph_tests::in_an_hour();
    let builder = || tachograph::builder().directory(&path).until(&soon);
    refused(
        builder().start(tachograph::tokio()),
        ErrorKind::NoRuntime,
        &["inside a tokio runtime"],
    );
    let without_time = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("built");
    let started = without_time.block_on(async { builder().start(tachograph::tokio()) });
    refused(started, ErrorKind::NoRuntime, &["enable_time"]);
    assert!(!path.exists());

    // On an ordinary day nobody asks for it.
    let off = tachograph::builder()
        .start(tachograph::tokio())
        .expect("off");
    assert_eq!(off.status().state, State::Off);
}
