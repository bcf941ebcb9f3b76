//! What `verify` finds.

#![cfg(unix)]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{recorded, set_mode, tachograph};
use serde_json::Value;

/// The findings, as entry and text; and whether the exit status says so.
fn findings(directory: &Path) -> Vec<(String, String)> {
    let output = tachograph(["verify", "--json"]).arg(directory).output();
    let output = output.expect("it runs");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all: Vec<(String, String)> = all
        .as_array()
        .expect("an array")
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().expect("a text").to_owned();
            (text("entry"), text("finding"))
        })
        .collect();
    assert_eq!(output.status.code(), Some(i32::from(!all.is_empty())));
    all
}

/// The first capture's profile and sidecar.
fn first(directory: &Path) -> (PathBuf, PathBuf) {
    let mut names: Vec<PathBuf> = fs::read_dir(directory)
        .expect("it exists")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    (names[0].clone(), names[1].clone())
}

fn edit(sidecar: &Path, change: impl FnOnce(&mut Value)) {
    let mut json: Value =
        serde_json::from_slice(&fs::read(sidecar).expect("it exists")).expect("JSON");
    change(&mut json);
    fs::write(sidecar, json.to_string()).expect("write");
}

/// What is found after a change, in texts that must each be part of a finding.
fn found_after(change: impl FnOnce(&Path), expected: &[&str]) {
    let directory = recorded("service");
    assert_eq!(findings(directory.path()), [], "before");
    change(directory.path());
    let found = findings(directory.path());
    for text in expected {
        assert!(
            found.iter().any(|(_, finding)| finding.contains(text)),
            "{text:?} is not in {found:#?}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn permissions_are_judged() {
    found_after(|it| set_mode(it, 0o750), &["the directory has mode 0750"]);
    found_after(
        |it| set_mode(&first(it).0, 0o644),
        &["it has mode 0644; a recorder gives 0600"],
    );
}

#[test]
fn entries_must_be_parts_of_captures_and_regular_files() {
    found_after(
        |it| fs::write(it.join("notes.txt"), "").expect("write"),
        &["no part of a capture has such a name"],
    );
    found_after(
        |it| {
            let (profile, sidecar) = first(it);
            fs::remove_file(&profile).expect("remove");
            symlink(&sidecar, &profile).expect("symlink");
        },
        &["this is not a regular file"],
    );
}

#[test]
fn pairs_must_be_complete() {
    found_after(
        |it| fs::remove_file(first(it).0).expect("remove"),
        &["it has no profile beside it"],
    );
    found_after(
        |it| fs::remove_file(first(it).1).expect("remove"),
        &["it has no sidecar beside it"],
    );
    found_after(
        |it| fs::write(&first(it).1, "{}").expect("write"),
        &["not a sidecar"],
    );
}

#[test]
fn a_leftover_is_found_unless_a_recorder_is_at_work_on_it() {
    let directory = recorded("service");
    let partial = directory
        .path()
        .join("21000101T000000.000000000Z.pprof.partial");
    fs::write(&partial, "").expect("write");
    set_mode(&partial, 0o600);
    let found = findings(directory.path());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].1.contains("unfinished"), "{found:#?}");

    let lock = File::open(directory.path()).expect("it exists");
    lock.lock().expect("nobody else has it");
    assert_eq!(findings(directory.path()), [], "while it is recorded into");

    let older = directory
        .path()
        .join("20000101T000000.000000000Z.pprof.partial");
    fs::write(&older, "").expect("write");
    set_mode(&older, 0o600);
    let found = findings(directory.path());
    assert_eq!(found.len(), 1, "of an earlier process: {found:#?}");
}

#[test]
fn the_profile_must_be_what_the_sidecar_says() {
    found_after(
        |it| {
            let profile = first(it).0;
            let mut bytes = fs::read(&profile).expect("it exists");
            // The operating system in the gzip header, which no checksum of gzip covers.
            bytes[9] ^= 1;
            fs::write(&profile, bytes).expect("write");
        },
        &["its SHA-256 is"],
    );
    found_after(
        |it| {
            edit(&first(it).1, |json| {
                json["Samples"] = 7.into();
                json["Sampler"]["FrequencyHz"] = 50.into();
                json["Executable"]["BuildId"] = "c0ffee".into();
                json["Coverage"]["Unlabelled"] = 100_000.into();
            });
        },
        &[
            "the sidecar says 7",
            "its period is 10000000 ns; at 50 Hz it is 20000000",
            "the sidecar says c0ffee",
            "samples have no task; the sidecar says 100000",
            "the samples stand for 15 % of the CPU time that was used",
        ],
    );
}

#[test]
fn times_and_reasons_must_make_sense() {
    found_after(
        |it| {
            edit(&first(it).1, |json| {
                json["Reason"] = "".into();
                json["FinishedAt"] = "2200-01-01T00:00:00Z".into();
                json["Until"] = "2000-01-01T00:00:00Z".into();
            });
        },
        &[
            "its reason is none",
            "the capture started after the deadline",
            "the capture started before the one of",
        ],
    );
    found_after(
        |it| {
            edit(&first(it).1, |json| {
                json["StartedAt"] = "2200-01-01T00:00:00Z".into();
                json["Until"] = "2200-01-01T01:00:00Z".into();
            });
        },
        &["its name says otherwise", "before it started"],
    );
}

#[test]
fn what_is_hollow_or_covers_too_little_is_found() {
    found_after(
        |it| {
            edit(&first(it).1, |json| {
                json["Coverage"]["CPUUsedSeconds"] = 100.0.into();
            });
        },
        &["% of the CPU time that was used"],
    );
    found_after(
        |it| {
            edit(&first(it).1, |json| {
                json["Samples"] = 0.into();
                json.as_object_mut().expect("an object").remove("Coverage");
            });
        },
        &["there is no sample", "the sidecar says 0"],
    );
}

#[test]
fn budgets_are_those_given() {
    let directory = recorded("service");
    let output = tachograph(["verify", "--entries", "3", "--profile-bytes", "10"])
        .arg(directory.path())
        .output()
        .expect("it runs");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("over the budget of 3"), "{printed}");
    assert!(printed.contains("over the budget of 10"), "{printed}");
}

#[test]
fn pipes_and_links_in_the_place_of_a_part_are_not_read() {
    for make in [
        |path: &Path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo runs").success());
        },
        |path: &Path| symlink("/etc/passwd", path).expect("a link"),
    ] {
        for which in [0, 1] {
            let directory = recorded("service");
            let (profile, sidecar) = first(directory.path());
            let part = if which == 0 { profile } else { sidecar };
            fs::remove_file(&part).expect("it was there");
            make(&part);
            let found = findings(directory.path());
            let own = part.file_name().expect("a name").to_str().expect("ASCII");
            let expected = [(own.to_owned(), "this is not a regular file".to_owned())];
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_profile_is_looked_into_beside_a_sidecar_that_cannot_be_read() {
    found_after(
        |it| {
            let (profile, sidecar) = first(it);
            fs::write(profile, "").expect("write");
            fs::write(sidecar, "").expect("write");
        },
        &["EOF while parsing", "the input is empty"],
    );
}
