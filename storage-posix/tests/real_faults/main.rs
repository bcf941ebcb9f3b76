//! What goes wrong with files, for real: full and read-only file systems,
//! limits of the process, directories that disappear, crowds and strange
//! company in them, clocks from before 1970.
//!
//! ```sh
//! cargo test -p tachograph-storage-posix --test real_faults
//! ```
//!
//! prints how many faults there were, and how many were not met as they must be:
//! with a whole capture, or an end of recording that says why and leaves nothing
//! unfinished; and everything else untouched. Each case would notice: it also
//! asserts that its fault was met, and that what is done without it succeeds.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/mounts.rs"]
mod mounts;
#[path = "../common/recording.rs"]
mod recording;

mod clock;
mod company;
mod limits;
mod moved;
mod read_only;
mod space;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tachograph_core::store::{CaptureName, EntryKind};

/// A case: brings faults about below the path, and says how many.
type Case = fn(&Path) -> u64;

const CASES: [(&str, Case); 18] = [
    ("a small file system", space::too_small_for_a_capture),
    ("a full file system", space::full_during_a_capture),
    ("no more files", space::no_more_files),
    ("RLIMIT_FSIZE", limits::size_of_files),
    ("RLIMIT_NOFILE", limits::descriptors),
    ("read-only", read_only::all_along),
    ("read-only, with leftovers", read_only::with_leftovers),
    ("unmounted", moved::unmounted),
    ("mounted over", moved::mounted_over),
    ("removed", moved::removed),
    ("removed and made again", moved::removed_and_made_again),
    ("replaced by a directory", moved::replaced_by_a_directory),
    ("replaced by a symlink", moved::replaced_by_a_symlink),
    ("100,000 entries", company::a_crowd),
    ("strange company", company::strange),
    ("before 1970", clock::before_1970),
    ("before the year 0", clock::before_the_year_0),
    ("stepped back", clock::stepped_back),
];

#[test]
fn each_is_met() {
    if common::plays(limits::play) {
        return;
    }
    let (mut faults, mut failures) = (0, Vec::new());
    for (name, case) in CASES {
        let place = common::temporary();
        match catch_unwind(AssertUnwindSafe(|| case(place.path()))) {
            Ok(met) => faults += met,
            Err(_) => failures.push(name),
        }
    }
    let line = format!("real faults: {faults} faults, {} failures", failures.len());
    say(&line);
    assert!(failures.is_empty(), "{failures:?}");
}

#[allow(clippy::print_stderr, reason = "it must be seen")]
fn say(line: &str) {
    // Past the harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The names of all entries. Insists that of ours there are whole captures only.
fn whole(path: &Path) -> Vec<String> {
    let names = common::names(path);
    for name in &names {
        let Some((capture, kind)) = CaptureName::parse(name) else {
            continue;
        };
        let other = match kind {
            EntryKind::Profile => capture.sidecar(),
            EntryKind::Sidecar => capture.profile(),
            _ => panic!("{name} was left"),
        };
        assert!(names.contains(&other), "{name} stands alone");
    }
    names
}
