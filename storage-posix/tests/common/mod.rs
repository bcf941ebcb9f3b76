//! What the tests of the private directory share.

#![allow(dead_code, reason = "no test needs all of it")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use tachograph_core::Store as _;
use tachograph_core::store::CaptureName;
use tachograph_storage_posix::PosixStore;
use tempfile::TempDir;

/// The user as whom tests run what root may not.
pub(crate) const NOBODY: u32 = 65_534;

const CHILD_PATH: &str = "TACHOGRAPH_TEST_CHILD_PATH";
const DONE: &str = "the child is done";

/// A directory for one test, that other users can enter.
pub(crate) fn temporary() -> TempDir {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    set_mode(temporary.path(), 0o755);
    temporary
}

/// A private directory for one test, and its store.
pub(crate) fn opened() -> (TempDir, PathBuf, PosixStore) {
    let temporary = temporary();
    let path = temporary.path().join("profiles");
    let store = PosixStore::open(&path).expect("it can be made");
    (temporary, path, store)
}

/// The name of a capture that started at this second.
pub(crate) fn name(second: u64) -> CaptureName {
    CaptureName::new(SystemTime::UNIX_EPOCH + Duration::from_secs(second))
}

pub(crate) fn publish(store: &PosixStore, name: CaptureName) {
    let staged = store.stage(name).expect("the name is free");
    staged.publish(b"sidecar", b"profile").expect("published");
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the mode");
}

/// The permissions of what stands at `path`.
pub(crate) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it exists").mode() & 0o7777
}

/// The names of all entries, sorted, with what is not UTF-8 replaced.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = entries(path)
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn entries(path: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(path).expect("a directory");
    entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect()
}

pub(crate) fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

/// Everything about everything below `path` that a refusal must not change.
pub(crate) fn snapshot(path: &Path) -> Vec<(PathBuf, u32, u32, u64, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let stat = fs::symlink_metadata(&path).expect("it exists");
        let content = if stat.is_file() {
            fs::read(&path).expect("readable")
        } else if stat.is_symlink() {
            let target = fs::read_link(&path).expect("a symlink");
            target.as_os_str().as_bytes().to_owned()
        } else {
            Vec::new()
        };
        if stat.is_dir() {
            left.extend(entries(&path).iter().map(|name| path.join(name)));
        }
        all.push((path, stat.mode(), stat.uid(), stat.ino(), content));
    }
    all.sort();
    all
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says that part of a test did not run, in a way that nobody can overlook.
#[allow(clippy::print_stderr, reason = "it must be seen")]
pub(crate) fn skipped(why: &str) {
    use std::io::Write as _;
    // Past the harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The test `test` of this test program again, to run as a process of its own,
/// where it [plays a part](plays) on `path`.
pub(crate) fn child(test: &str, path: &Path) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD_PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// The same as another user, if this is root and that user can run it.
pub(crate) fn child_as_nobody(test: &str, path: &Path) -> Option<Command> {
    if !is_root() {
        skipped("needs root, to become somebody else");
        return None;
    }
    let mut command = child(test, path);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let mut probe = Command::new(command.get_program());
    probe.arg("--list").uid(NOBODY).gid(NOBODY).current_dir("/");
    probe.stdout(Stdio::null());
    match probe.status() {
        Ok(status) if status.success() => Some(command),
        _ => {
            skipped("nobody cannot run this test program: is the target directory private?");
            None
        }
    }
}

/// Runs a child to its end and insists that it did its part.
pub(crate) fn run(mut command: Command) {
    let output = command
        .stderr(Stdio::piped())
        .output()
        .expect("the child starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.lines().any(|line| line.ends_with(DONE)),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Starts a child and returns once it says that it is done and only waits.
pub(crate) fn start(mut command: Command) -> Child {
    let mut child = command.spawn().expect("the child starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for line in lines {
        if line.expect("readable").ends_with(DONE) {
            return child;
        }
    }
    panic!("the child ended early: {:?}", child.wait());
}

/// In the process that a test started of itself: plays that test's `part` and
/// returns true.
pub(crate) fn plays(part: impl FnOnce(&Path)) -> bool {
    match std::env::var_os(CHILD_PATH) {
        Some(path) => {
            part(Path::new(&path));
            true
        }
        None => false,
    }
}

/// In a child: says that its part is done.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub(crate) fn child_done() {
    println!("\n{DONE}");
}

/// In a child: waits until the parent is gone or kills it.
pub(crate) fn child_waits() {
    let _ = std::io::stdin().lines().next();
}
