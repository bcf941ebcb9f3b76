//! Somebody hostile on the machine: another user beside a whole recorder.
//!
//! ```sh
//! cargo test -p tachograph-tests --test hostile
//! ```
//!
//! prints a line for each scene: how often the other user tried what, and how
//! often that went wrong for us, which is never. What is tried is also tried
//! where it must succeed, so that a hole would be noticed: the tests whose names
//! end in `would_be_noticed`.
//!
//! A thread that swaps the path, at full speed and under every umask, is in
//! `storage-posix/tests/hostile`; recorders in forked children are in
//! `forked.rs`.

#![cfg(target_os = "linux")]

mod attempts;
mod captures;
mod intruder;
mod lock;
mod planting;
mod process;

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The other user.
const NOBODY: u32 = 65_534;

/// There is one sampler in a process, and one set of cores.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints past the harness, which would swallow it.
#[allow(clippy::print_stderr, reason = "it must be seen")]
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether another user can be brought in. Says aloud if not.
fn is_root(temporary: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_root = std::fs::metadata(temporary).expect("it exists").uid() == 0;
    if !is_root {
        say("SKIPPED: needs root, to become somebody else");
    }
    is_root
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).expect("set the mode");
}

/// The names of all entries, sorted.
fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(path)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
