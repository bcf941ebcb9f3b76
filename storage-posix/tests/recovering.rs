//! What is done about the leftovers of a crash, and to nothing else.

#![cfg(unix)]

mod common;
#[path = "common/faulty.rs"]
mod faulty;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use common::{name, names, opened, publish, snapshot};
use faulty::{Faulty, System};
use tachograph_core::Store as _;
use tachograph_core::store::EntryKind::{PartialProfile, PartialSidecar, Profile, Sidecar};
use tachograph_core::store::Recovery;
use tachograph_storage_posix::seam::{self, Operation};

fn put(path: &Path, name: &str) {
    fs::write(path.join(name), "content").expect("write");
}

fn length(path: &Path, name: &str) -> u64 {
    fs::symlink_metadata(path.join(name))
        .expect("it exists")
        .len()
}

#[test]
fn an_empty_directory() {
    let (_temporary, _path, store) = opened();
    assert_eq!(store.recover().expect("recovered"), Recovery::default());
}

#[test]
fn every_state_that_a_crash_can_leave() {
    for (stands, left) in [
        (&[PartialProfile][..], &[PartialProfile][..]),
        (&[PartialProfile, PartialSidecar], &[PartialProfile]),
        (&[PartialProfile, Sidecar], &[PartialProfile]),
        // Between link and unlink, where renaming takes two steps.
        (
            &[PartialProfile, PartialSidecar, Sidecar],
            &[PartialProfile],
        ),
        (
            &[PartialProfile, Profile, Sidecar],
            &[PartialProfile, Profile, Sidecar],
        ),
        (&[Sidecar], &[]),
        (&[PartialSidecar], &[]),
        (&[PartialSidecar, Sidecar], &[]),
        (&[Profile], &[Profile]),
        (&[Profile, Sidecar], &[Profile, Sidecar]),
        (&[Profile, Sidecar, PartialSidecar], &[Profile, Sidecar]),
    ] {
        let (_temporary, path, store) = opened();
        for &kind in stands {
            put(&path, &name(9).entry(kind));
        }
        let recovery = store.recover().expect("recovered");
        assert_eq!(recovery.newest, Some(name(9).start()), "{stands:?}");
        let mut expected: Vec<_> = left.iter().map(|&kind| name(9).entry(kind)).collect();
        expected.sort();
        assert_eq!(names(&path), expected, "{stands:?}");

        let partial = name(9).entry(PartialProfile);
        let interrupted: &[_] = if stands.contains(&PartialProfile) {
            assert_eq!(length(&path, &partial), 0);
            std::slice::from_ref(&partial)
        } else {
            &[]
        };
        assert_eq!(recovery.interrupted, interrupted, "{stands:?}");
        for &kind in left.iter().filter(|&&kind| kind != PartialProfile) {
            assert_eq!(length(&path, &name(9).entry(kind)), 7);
        }
    }
}

#[test]
fn nothing_but_regular_files_with_exactly_our_names() {
    let (temporary, path, store) = opened();
    let outside = temporary.path().join("outside");
    fs::write(&outside, "untouched").expect("write");
    for (second, kind) in [(1, PartialProfile), (2, PartialSidecar), (3, Sidecar)] {
        symlink(&outside, path.join(name(second).entry(kind))).expect("symlink");
        let dangling = path.join(name(second + 10).entry(kind));
        symlink("nowhere", dangling).expect("symlink");
        fs::create_dir(path.join(name(second + 20).entry(kind))).expect("create");
        common::make_fifo(&path.join(name(second + 30).entry(kind)));
    }
    for foreign in [
        "notes.pprof.json",
        "core",
        ".pprof.partial",
        "20261130T073220Z.pprof.partial",
        "20261130T073220.147230271Z.pprof.partial~",
        "20261130T073220.147230271z.pprof.json",
        "20261130T073220.147230271Z.pprof.json.partial.bak",
        "20261331T073220.147230271Z.pprof.json",
    ] {
        put(&path, foreign);
    }
    if cfg!(not(target_vendor = "apple")) {
        let bytes = b"20261130T073220.147230271Z\xff.pprof.partial";
        fs::write(path.join(OsStr::from_bytes(bytes)), "content").expect("write");
    }
    let before = snapshot(temporary.path());
    assert_eq!(store.recover().expect("recovered"), Recovery::default());
    assert_eq!(snapshot(temporary.path()), before);

    publish(&store, name(99));
    for entry in [name(99).profile(), name(99).sidecar()] {
        fs::remove_file(path.join(entry)).expect("remove");
    }
    assert_eq!(snapshot(temporary.path()), before);
}

#[test]
fn a_profile_that_is_no_regular_file_explains_no_sidecar() {
    let (_temporary, path, store) = opened();
    put(&path, &name(1).sidecar());
    fs::create_dir(path.join(name(1).profile())).expect("create");
    store.recover().expect("recovered");
    assert_eq!(names(&path), [name(1).profile()]);
}

#[test]
fn content_that_has_another_name_is_not_emptied() {
    let (temporary, path, store) = opened();
    let outside = temporary.path().join("outside");
    fs::write(&outside, "untouched").expect("write");
    let partial = name(1).entry(PartialProfile);
    fs::hard_link(&outside, path.join(&partial)).expect("link");
    fs::hard_link(&outside, path.join(name(2).sidecar())).expect("link");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, [partial]);
    publish(&store, name(3));
    assert_eq!(names(&path), [name(3).profile(), name(3).sidecar()]);
    assert_eq!(fs::read(&outside).expect("readable"), b"untouched");
}

#[test]
fn a_crash_between_the_two_steps_of_a_rename_costs_no_profile() {
    let (_temporary, path, store) = opened();
    let partial = name(1).entry(PartialProfile);
    put(&path, &partial);
    put(&path, &name(1).sidecar());
    fs::hard_link(path.join(&partial), path.join(name(1).profile())).expect("link");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, [partial]);
    assert_eq!(length(&path, &name(1).profile()), 7);
    publish(&store, name(2));
    assert_eq!(names(&path).len(), 4);
    assert_eq!(length(&path, &name(1).profile()), 7);
}

#[test]
fn somebody_elses_file_is_not_emptied() {
    if !common::is_root() {
        return common::skipped("needs root, to give a file away");
    }
    let (_temporary, path, store) = opened();
    let partial = name(1).entry(PartialProfile);
    put(&path, &partial);
    chown(path.join(&partial), Some(common::NOBODY), None).expect("give away");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, std::slice::from_ref(&partial));
    assert_eq!(length(&path, &partial), 7);
}

#[test]
fn interrupted_captures_stand_until_a_later_one_is_complete() {
    let (_temporary, path, store) = opened();
    let interrupted = [name(1), name(2)].map(|name| name.entry(PartialProfile));
    for partial in &interrupted {
        put(&path, partial);
    }
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, interrupted);

    drop(store.stage(name(3)).expect("free"));
    assert_eq!(names(&path), interrupted);

    let staged = store.stage(name(4)).expect("free");
    put(&path, &name(4).profile());
    staged.publish(b"sidecar", b"profile").expect_err("taken");
    let with_taken = [&interrupted[..], &[name(4).profile()]].concat();
    assert_eq!(names(&path), with_taken);
    fs::remove_file(path.join(name(4).profile())).expect("remove");

    // One that nobody found at the start is nobody's to remove.
    let unknown = name(5).entry(PartialProfile);
    put(&path, &unknown);
    publish(&store, name(6));
    assert_eq!(
        names(&path),
        [unknown, name(6).profile(), name(6).sidecar()]
    );
}

#[test]
fn a_leftover_that_cannot_be_removed_does_not_fail_the_capture() {
    let (_temporary, path, store) = opened();
    let partial = name(1).entry(PartialProfile);
    put(&path, &partial);
    store.recover().expect("recovered");
    // Nobody removes a directory for a file.
    fs::remove_file(path.join(&partial)).expect("remove");
    fs::create_dir(path.join(&partial)).expect("create");
    publish(&store, name(2));
    assert_eq!(
        names(&path),
        [partial, name(2).profile(), name(2).sidecar()]
    );
}

#[test]
fn a_recovery_is_synced_if_it_changed_anything() {
    for (left, is_synced) in [
        (&[][..], false),
        (&[Profile, Sidecar], false),
        (&[Sidecar], true),
        (&[PartialProfile], true),
        (&[PartialProfile, Sidecar], true),
    ] {
        let (_temporary, path, store) = opened();
        for kind in left {
            put(&path, &name(1).entry(*kind));
        }
        let calls = Faulty::new(System::Ordinary, []);
        let _installed = seam::install(calls.clone());
        store.recover().expect("recovered");
        let last = calls.seen().last().map(|seen| seen.operation);
        assert_eq!(last == Some(Operation::Sync), is_synced, "{left:?}");
    }
}

#[test]
fn what_took_the_place_of_a_leftover_is_not_removed() {
    let (_temporary, path, store) = opened();
    let [linked, piped] = [name(1), name(2)].map(|name| name.entry(PartialProfile));
    for partial in [&linked, &piped] {
        put(&path, partial);
    }
    store.recover().expect("recovered");
    for partial in [&linked, &piped] {
        fs::remove_file(path.join(partial)).expect("remove");
    }
    symlink("nowhere", path.join(&linked)).expect("symlink");
    common::make_fifo(&path.join(&piped));
    let before = snapshot(&path);

    publish(&store, name(3));
    for published in [name(3).profile(), name(3).sidecar()] {
        fs::remove_file(path.join(published)).expect("remove");
    }
    assert_eq!(snapshot(&path), before);
}

#[test]
fn what_is_not_emptied_is_not_opened() {
    let (temporary, path, store) = opened();
    let outside = temporary.path().join("outside");
    fs::write(&outside, "untouched").expect("write");
    fs::hard_link(&outside, path.join(name(1).entry(PartialProfile))).expect("link");
    fs::write(path.join(name(2).entry(PartialProfile)), "").expect("write");
    let calls = Faulty::new(System::Ordinary, []);
    let _installed = seam::install(calls.clone());
    assert_eq!(store.recover().expect("recovered").interrupted.len(), 2);
    let opens = |seen: &faulty::Seen| seen.operation == Operation::OpenToWrite;
    assert!(!calls.seen().iter().any(opens), "{:?}", calls.seen());
}

#[test]
fn a_crash_is_seen_by_the_next_store() {
    if common::plays(child_stages_and_waits) {
        return;
    }
    let (_temporary, path, store) = opened();
    store.recover().expect("recovered");
    drop(store);
    let partial = name(1).entry(PartialProfile);
    let mut child = common::start(common::child("a_crash_is_seen_by_the_next_store", &path));
    assert_eq!(names(&path), [partial.as_str()]);
    child.kill().expect("kill");
    child.wait().expect("wait");

    let store = tachograph_storage_posix::PosixStore::open(&path).expect("free");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, [partial]);
    assert_eq!(recovery.newest, Some(name(1).start()));
}

fn child_stages_and_waits(path: &Path) {
    let store = tachograph_storage_posix::PosixStore::open(path).expect("free");
    let _staged = store.stage(name(1)).expect("free");
    common::child_done();
    common::child_waits();
}
