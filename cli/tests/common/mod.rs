//! What the tests of the command share.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The command, as a script runs it.
pub(crate) fn tachograph(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tachograph"));
    command
        .args(arguments)
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// What the command prints, if it is content.
pub(crate) fn printed(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let output = tachograph(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A committed file.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The committed profiles: ours, and those of others.
pub(crate) fn profiles() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for directory in ["service", "service_smol", "foreign"] {
        let entries = fs::read_dir(data(directory)).expect("it is committed");
        all.extend(
            entries
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.extension() != Some(OsStr::new("json"))),
        );
    }
    all.sort();
    all
}

/// A copy of committed captures, private again: a checkout does not keep modes.
pub(crate) fn recorded(name: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for entry in fs::read_dir(data(name)).expect("it is committed") {
        let entry = entry.expect("an entry");
        let copy = directory.path().join(entry.file_name());
        fs::copy(entry.path(), &copy).expect("copy");
        set_mode(&copy, 0o600);
    }
    set_mode(directory.path(), 0o700);
    directory
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the mode");
}

#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Path, _: u32) {}

/// Says aloud what is not tested.
#[allow(clippy::print_stderr, reason = "it must be seen")]
pub(crate) fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// `go`, if it is there; else says aloud what is skipped.
pub(crate) fn go(what: &str) -> Option<PathBuf> {
    let named = std::env::var_os("TACHOGRAPH_TEST_GO").map(PathBuf::from);
    let go = named.unwrap_or_else(|| "go".into());
    let runs = Command::new(&go).arg("version").output();
    if runs.is_ok_and(|it| it.status.success()) {
        return Some(go);
    }
    skipped(&format!(
        "{what} needs go, in PATH or as TACHOGRAPH_TEST_GO"
    ));
    None
}

/// What `go tool pprof` prints, about the profile alone.
pub(crate) fn pprof(go: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Vec<u8> {
    let output = Command::new(go)
        .args(["tool", "pprof", "-symbolize=none"])
        .args(arguments)
        // It guesses at source paths by the directory it is in.
        .current_dir("/")
        .env("PPROF_BINARY_PATH", "/nowhere")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", complaint(&output));
    output.stdout
}
