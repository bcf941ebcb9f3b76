//! The directory goes away during a capture, or something takes its place. The
//! capture is in the directory that was judged, or nowhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tachograph_storage_posix::PosixStore;

use crate::common::{names, set_mode};
use crate::mounts::{bind, detach, in_private_mounts, mount_tmpfs};
use crate::recording::{Recording, some_day};
use crate::whole;

/// In the middle of a capture.
fn sampling(path: &Path) -> Recording {
    let store = PosixStore::open(path).expect("it can be opened");
    let recording = Recording::start(store, some_day());
    assert!(recording.is_sampling());
    assert_eq!(names(path).len(), 1);
    recording
}

fn saved(mut recording: Recording) {
    recording.a_minute_passes();
    assert_eq!(recording.saved(), 1, "{:?}", recording.end());
}

fn decoy(at: &Path) {
    fs::create_dir(at).expect("create");
    set_mode(at, 0o700);
}

pub(crate) fn removed(place: &Path) -> u64 {
    let path = place.join("profiles");
    let mut recording = sampling(&path);
    fs::remove_dir_all(&path).expect("remove");
    recording.a_minute_passes();
    let why = recording.failure();
    assert!(why.contains("cannot create"), "{why}");
    assert!(why.contains("No such file or directory"), "{why}");
    assert!(!path.exists());
    1
}

pub(crate) fn removed_and_made_again(place: &Path) -> u64 {
    let path = place.join("profiles");
    let mut recording = sampling(&path);
    fs::remove_dir_all(&path).expect("remove");
    decoy(&path);
    recording.a_minute_passes();
    recording.failure();
    assert!(names(&path).is_empty());
    // The lock was that of the old one.
    PosixStore::open(&path).expect("the new one is free");
    1
}

fn replaced(place: &Path, put: fn(&Path, &Path)) -> (PathBuf, PathBuf) {
    let (path, moved) = (place.join("profiles"), place.join("moved"));
    let target = place.join("target");
    decoy(&target);
    let recording = sampling(&path);
    fs::rename(&path, &moved).expect("rename");
    put(&target, &path);
    saved(recording);
    assert_eq!(whole(&moved).len(), 2);
    (path, target)
}

pub(crate) fn replaced_by_a_directory(place: &Path) -> u64 {
    let (path, _) = replaced(place, |_, path| decoy(path));
    assert!(names(&path).is_empty());
    1
}

pub(crate) fn replaced_by_a_symlink(place: &Path) -> u64 {
    let (_, target) = replaced(place, |target, path| {
        symlink(target, path).expect("symlink");
    });
    assert!(names(&target).is_empty());
    1
}

pub(crate) fn unmounted(place: &Path) -> u64 {
    let done = in_private_mounts(|| {
        let (real, view) = (place.join("real"), place.join("view"));
        fs::create_dir(&real).expect("create");
        bind(&real, &view);
        let recording = sampling(&view.join("profiles"));
        detach(&view);
        saved(recording);
        assert!(names(&view).is_empty());
        assert_eq!(whole(&real.join("profiles")).len(), 2);
    });
    u64::from(done)
}

pub(crate) fn mounted_over(place: &Path) -> u64 {
    let done = in_private_mounts(|| {
        let path = place.join("profiles");
        let recording = sampling(&path);
        mount_tmpfs(&path, "size=16m,mode=700");
        saved(recording);
        assert!(names(&path).is_empty());
        detach(&path);
        assert_eq!(whole(&path).len(), 2);
    });
    u64::from(done)
}
