//! What else may stand in the directory.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use tachograph_core::store::CaptureName;
use tachograph_core::store::EntryKind::{PartialProfile, PartialSidecar, Profile, Sidecar};
use tachograph_core::{End, Exhausted};
use tachograph_storage_posix::PosixStore;

use crate::common::{is_root, name, skipped, snapshot};
use crate::recording::{Recording, some_day};

const CROWD: u32 = 100_000;

/// An orderly end: the budget counts what is not ours too.
pub(crate) fn a_crowd(_place: &Path) -> u64 {
    // Where making so many costs least.
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let place = place.expect("a temporary directory");
    let path = place.path().join("profiles");
    let store = PosixStore::open(&path).expect("it can be made");
    put_strange(&path, &place.path().join("outside"));
    for number in 0..CROWD {
        fs::write(path.join(format!("file-{number}")), "").expect("write");
    }
    let before = stats(&path);
    assert!(before.len() > CROWD as usize);
    let recording = Recording::start(store, some_day());
    match recording.end() {
        Some(End::Budget(Exhausted::Entries { found, allowed })) => {
            assert_eq!(allowed, 510);
            // Counting stopped there.
            assert_eq!(found, 513);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(recording.sampler.starts(), 0);
    assert_eq!(stats(&path), before);
    1
}

/// All that a look at each entry tells.
fn stats(path: &Path) -> Vec<(OsString, u64, u32, i64, i64)> {
    let mut stats: Vec<_> = fs::read_dir(path)
        .expect("it can be listed")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let stat = entry.metadata().expect("it stands there");
            let (changed, nanoseconds) = (stat.ctime(), stat.ctime_nsec());
            (
                entry.file_name(),
                stat.ino(),
                stat.mode(),
                changed,
                nanoseconds,
            )
        })
        .collect();
    stats.sort();
    stats
}

/// None of it is opened, followed, changed or removed, and captures go on.
pub(crate) fn strange(place: &Path) -> u64 {
    let path = place.join("profiles");
    let store = PosixStore::open(&path).expect("it can be made");
    let faults = put_strange(&path, &place.join("outside"));
    let before = snapshot(place);
    assert!(before.len() > usize::try_from(faults).expect("few"));

    let mut recording = Recording::start(store, some_day());
    recording.a_minute_passes();
    assert_eq!(recording.saved(), 1, "{:?}", recording.end());
    assert_eq!(recording.stop(), End::Stopped);

    let ours: Vec<PathBuf> = [Profile, Sidecar]
        .map(|kind| path.join(CaptureName::new(some_day()).entry(kind)))
        .into();
    let mut after = snapshot(place);
    after.retain(|(entry, ..)| !ours.contains(entry));
    assert_eq!(after, before);
    faults
}

/// One of everything, under names of captures and under others. Says how many.
fn put_strange(path: &Path, outside: &Path) -> u64 {
    fs::write(outside, "untouched").expect("write");
    let mut put = 0;
    let mut second = 0;
    // For a regular file, a name of ours is its death warrant.
    let our_names = [PartialProfile, PartialSidecar, Sidecar, Profile];
    let mut at_each_name = |what: &str, make: &dyn Fn(&Path)| {
        make(&path.join(what));
        put += 1;
        for kind in our_names {
            second += 1;
            make(&path.join(name(second).entry(kind)));
            put += 1;
        }
    };
    at_each_name("fifo", &|at| {
        rustix::fs::mknodat(CWD, at, FileType::Fifo, Mode::RUSR, 0).expect("mkfifo");
    });
    at_each_name("socket", &|at| drop(UnixListener::bind(at).expect("bind")));
    at_each_name("directory", &|at| fs::create_dir(at).expect("create"));
    at_each_name("symlink", &|at| symlink(outside, at).expect("symlink"));
    at_each_name("dangling", &|at| symlink("nowhere", at).expect("symlink"));
    if is_root() {
        let null = rustix::fs::makedev(1, 3);
        at_each_name("device", &|at| {
            let kind = FileType::CharacterDevice;
            rustix::fs::mknodat(CWD, at, kind, Mode::RUSR | Mode::WUSR, null).expect("mknod");
        });
    } else {
        skipped("needs root, to make a device");
    }
    // A second name of somebody's file.
    fs::hard_link(outside, path.join("hard link")).expect("link");
    fs::hard_link(outside, path.join(name(90).profile())).expect("link");
    // Names that are no text, one of them almost ours.
    let mut almost = name(91).entry(PartialProfile).into_bytes();
    almost[3] = 0xff;
    fs::write(path.join(OsStr::from_bytes(b"\xff\xfe")), "x").expect("write");
    fs::write(path.join(OsString::from_vec(almost)), "x").expect("write");
    put + 4
}
