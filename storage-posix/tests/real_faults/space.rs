//! File systems that are full.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use tachograph_core::{End, Exhausted, Limits};
use tachograph_storage_posix::PosixStore;

use crate::mounts::{detach, in_private_mounts, mount_tmpfs};
use crate::recording::{Recording, some_day};
use crate::whole;

const PAGE: u64 = 4096;

/// What a capture is allowed here: it fits, and then does not.
fn limits() -> Limits {
    let limits = Limits::builder().profile_bytes_max(1 << 20);
    limits.build().expect("allowed")
}

/// An orderly end, before anything is written.
pub(crate) fn too_small_for_a_capture(place: &Path) -> u64 {
    let done = in_private_mounts(|| {
        mount_tmpfs(place, "size=2m,mode=700");
        let store = PosixStore::open(place).expect("private");
        let recording = Recording::start(store, some_day());
        match recording.end() {
            Some(End::Budget(Exhausted::FreeSpace { free, needed })) => {
                assert!(free > 0 && free <= 2 << 20, "{free}");
                assert_eq!(needed, (8 << 20) + (16 << 10));
            }
            other => panic!("{other:?}"),
        }
        assert!(whole(place).is_empty());
    });
    u64::from(done)
}

/// Somebody else takes the room that there was when the capture began. Whatever
/// is left, from nothing to enough, there is a whole capture or none.
pub(crate) fn full_during_a_capture(place: &Path) -> u64 {
    const PROFILE_PAGES: u64 = 128;
    let pages_left = [
        0,
        1,
        2,
        64,
        PROFILE_PAGES - 1,
        PROFILE_PAGES,
        2 * PROFILE_PAGES,
    ];
    let mut failed = 0;
    in_private_mounts(|| {
        for left in pages_left {
            mount_tmpfs(place, "size=2m,mode=755");
            let path = place.join("profiles");
            let store = PosixStore::open(&path).expect("it can be made");
            let mut recording = Recording::start_within(store, some_day(), limits());
            assert!(recording.is_sampling());
            recording.sampler.set_profile_bytes(PROFILE_PAGES * PAGE);
            fill(&place.join("filler"), left);
            recording.a_minute_passes();
            if left > PROFILE_PAGES {
                assert_eq!(recording.saved(), 1);
                assert_eq!(whole(&path).len(), 2);
            } else {
                let why = recording.failure();
                assert!(why.contains("cannot write"), "{why}");
                assert!(why.contains("No space left on device"), "{why}");
                assert!(whole(&path).is_empty(), "{left} pages");
                failed += 1;
            }
            drop(recording);

            // As soon as there is room, all is well.
            fs::remove_file(place.join("filler")).expect("remove");
            let store = PosixStore::open(&path).expect("the directory is free");
            let later = some_day() + std::time::Duration::from_secs(3600);
            let mut recording = Recording::start_within(store, later, limits());
            recording.a_minute_passes();
            assert_eq!(recording.saved(), 1);
            drop(recording);
            detach(place);
        }
    });
    failed
}

/// Fills the file system but for so many pages.
fn fill(at: &Path, pages_left: u64) {
    let mut filler = File::create(at).expect("create");
    let page = [0; PAGE as usize];
    let mut pages = 0;
    loop {
        match filler.write(&page) {
            Ok(written) => pages += written as u64 / PAGE,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                break;
            }
        }
    }
    filler.set_len((pages - pages_left) * PAGE).expect("cut");
}

/// There is room for bytes, and none for files.
pub(crate) fn no_more_files(place: &Path) -> u64 {
    let mut failed = 0;
    let mut saved = 0;
    in_private_mounts(|| {
        // The root of the file system is one.
        for files in 2..=4 {
            mount_tmpfs(place, &format!("size=16m,mode=700,nr_inodes={files}"));
            let store = PosixStore::open(place).expect("private");
            let mut recording = Recording::start(store, some_day());
            recording.a_minute_passes();
            if recording.saved() == 1 {
                saved += 1;
                assert_eq!(whole(place).len(), 2);
            } else {
                failed += 1;
                let why = recording.failure();
                assert!(why.contains("cannot create"), "{why}");
                assert!(why.contains("No space left on device"), "{why}");
                assert!(whole(place).is_empty());
            }
            drop(recording);
            detach(place);
        }
        assert!(failed >= 1 && saved >= 1, "{failed} failed, {saved} saved");
    });
    failed
}
