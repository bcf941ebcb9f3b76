//! Somebody who changes the path of the private directory, as fast as possible,
//! while recorders start at it.
//!
//! ```sh
//! TACHOGRAPH_STARTS=2000 cargo test -p tachograph-storage-posix --test hostile
//! ```
//!
//! prints one line for each of three umasks and two users, so that 12,000
//! recorders start; without the variable it is 200 each. Every start must be
//! refused, or its capture must stand in a directory that is private and was
//! never reached through a symlink; and whatever else stands there must be as it
//! was.
//!
//! That this would notice is shown on two ways to open a directory that are
//! wrong: the tests that end in `would_be_noticed`.

#![cfg(any(target_os = "linux", target_vendor = "apple"))]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/recording.rs"]
mod recording;

mod scene;
mod swapper;

use std::fs::{self, Metadata, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::set_mode;
use recording::{Recording, some_day};
use rustix::fs::Mode;
use scene::Scene;
use swapper::Swapper;
use tachograph_core::store::CaptureName;
use tachograph_core::{End, ErrorKind, Limits};
use tachograph_storage_posix::PosixStore;
use tempfile::TempDir;

const UMASK: &str = "TACHOGRAPH_TEST_UMASK";

/// What became of many starts.
#[derive(Debug, Default)]
struct Figures {
    starts: u64,
    refused: u64,
    worked: u64,
    swaps: u64,
    failures: Vec<String>,
}

impl Figures {
    fn line(&self, who: &str) -> String {
        let Self {
            starts,
            refused,
            worked,
            swaps,
            failures,
        } = self;
        let failures = failures.len();
        format!(
            "path swapped, {who}: {starts} starts, {refused} refused, {worked} worked, \
             {swaps} swaps, {failures} failures"
        )
    }
}

/// Starts recorders while the path changes, and looks where their captures are.
fn start_recorders(parent: &Path, starts: u32) -> Figures {
    let scene = Scene::set(parent);
    let swapper = Swapper::start(&scene);
    let mut figures = Figures::default();
    let mut captures = Vec::new();
    // A directory that comes back has captures in it.
    let entries_many = Limits::builder().entries_max(16_384).build();
    let limits = entries_many.expect("allowed");
    for start in 0..starts {
        figures.starts += 1;
        swapper.next_swap();
        let store = match PosixStore::open(&scene.path) {
            Ok(store) => store,
            Err(error) => {
                figures.refused += 1;
                if error.kind() != ErrorKind::Directory {
                    figures.failures.push(format!("{error:#}"));
                }
                continue;
            }
        };
        figures.worked += 1;
        // Each past the cooldown of the one before.
        let wall = some_day() + start * Duration::from_secs(600);
        let recording = Recording::start_within(store, wall, limits);
        let has_begun = recording.is_sampling();
        // What was recorded until then is kept.
        let end = recording.stop();
        if !has_begun || end != End::Stopped {
            figures.failures.push(format!("{end:?}"));
        }
        captures.push(CaptureName::new(wall));
    }
    figures.swaps = swapper.stop();
    figures.failures.extend(scene.judge(&captures));
    figures
}

/// Where changing a directory costs least.
fn place() -> TempDir {
    let temporary = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let temporary = temporary.expect("a temporary directory");
    set_mode(temporary.path(), 0o777);
    temporary
}

/// In octal.
const UMASKS: [&str; 3] = ["0022", "0000", "0777"];

fn under_umask(parent: &Path) {
    let umask = std::env::var(UMASK).expect("the parent says so");
    let starts = std::env::var("TACHOGRAPH_STARTS").unwrap_or_else(|_| "200".to_owned());
    let starts = starts.parse().expect("TACHOGRAPH_STARTS is a number");
    let mask = u32::from_str_radix(&umask, 8).expect("octal");
    rustix::process::umask(Mode::from_raw_mode(mask));
    let figures = start_recorders(parent, starts);
    let user = rustix::process::geteuid().as_raw();
    say_from_child(&figures.line(&format!("umask {umask}, user {user}")));
    assert!(figures.failures.is_empty(), "{:#?}", figures.failures);
    assert!(figures.worked > 0 && figures.refused > 0);
    common::child_done();
}

/// Runs a child and passes on the line of figures that it prints.
#[allow(clippy::print_stderr, reason = "it must be seen")]
fn run(mut command: Command) {
    let output = command
        .stderr(Stdio::piped())
        .output()
        .expect("the child starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let figures = said.lines().find(|line| line.starts_with("path swapped"));
    // Past the harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "{}", figures.unwrap_or("no figures"));
    assert!(
        output.status.success() && figures.is_some(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[allow(clippy::print_stdout, reason = "the parent reads it")]
fn say_from_child(line: &str) {
    println!("\n{line}");
}

#[test]
fn as_this_user() {
    if common::plays(under_umask) {
        return;
    }
    for umask in UMASKS {
        let place = place();
        let mut command = common::child("as_this_user", place.path());
        command.env(UMASK, umask);
        run(command);
    }
}

#[test]
fn as_somebody_whom_permissions_bind() {
    if common::plays(under_umask) {
        return;
    }
    for umask in UMASKS {
        let place = place();
        let test = "as_somebody_whom_permissions_bind";
        let Some(mut command) = common::child_as_nobody(test, place.path()) else {
            return;
        };
        command.env(UMASK, umask);
        run(command);
    }
}

/// Whether something is not as it must be, before so many tries are over.
fn is_noticed(mut careless: impl FnMut(&Scene, &Swapper)) -> bool {
    let place = place();
    let scene = Scene::set(place.path());
    let swapper = Swapper::start(&scene);
    let is_noticed = (0..100_000).any(|_| {
        careless(&scene, &swapper);
        !scene.judge_bystanders().is_empty()
    });
    swapper.stop();
    is_noticed
}

#[test]
fn a_check_before_the_open_would_be_noticed() {
    assert!(is_noticed(|scene, swapper| {
        let is_private = |stat: Metadata| stat.is_dir() && stat.mode() & 0o777 == 0o700;
        if fs::symlink_metadata(&scene.path).is_ok_and(is_private) {
            swapper.next_swap();
            let _ = fs::write(scene.path.join("capture"), "profile");
        }
    }));
}

#[test]
fn a_mode_that_is_set_by_name_would_be_noticed() {
    assert!(is_noticed(|scene, swapper| {
        if fs::create_dir(&scene.path).is_ok() {
            swapper.next_swap();
            let _ = fs::set_permissions(&scene.path, Permissions::from_mode(0o700));
        }
    }));
}
