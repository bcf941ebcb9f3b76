//! One store at a time.

#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;

use common::{name, names, opened, publish};
use tachograph_core::store::EntryKind;
use tachograph_core::{ErrorKind, Store as _};
use tachograph_storage_posix::PosixStore;

fn is_in_use(path: &Path) -> bool {
    match PosixStore::open(path) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
            true
        }
    }
}

#[test]
fn until_it_is_closed() {
    let (_temporary, path, store) = opened();
    assert!(is_in_use(&path));
    store.close();
    assert!(!is_in_use(&path));
    let second = PosixStore::open(&path).expect("free");
    store.close();
    drop(store);
    assert!(is_in_use(&path), "an old store unlocked a new one");
    drop(second);
}

#[test]
fn until_it_is_dropped() {
    let (_temporary, path, store) = opened();
    drop(store);
    assert!(!is_in_use(&path));
}

#[test]
fn a_staged_capture_keeps_it_after_a_drop() {
    let (_temporary, path, store) = opened();
    let staged = store.stage(name(1)).expect("free");
    drop(store);
    assert!(is_in_use(&path));
    drop(staged);
    assert!(!is_in_use(&path));
    assert!(names(&path).is_empty());
}

#[test]
fn nothing_works_on_a_closed_store() {
    let (_temporary, path, store) = opened();
    let staged = store.stage(name(1)).expect("free");
    let left = store.stage(name(2)).expect("free");
    store.close();
    let errors = [
        store.recover().expect_err("closed"),
        store.usage(512).expect_err("closed"),
        store.stage(name(3)).err().expect("closed"),
        staged.publish(b"sidecar", b"profile").expect_err("closed"),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.to_string().contains("closed already"), "{error}");
    }
    assert_eq!(names(&path), [name(2).entry(EntryKind::PartialProfile)]);
    drop(left);
    assert!(names(&path).is_empty());
}

#[test]
fn refusals_leave_the_holder_alone() {
    let (_temporary, path, store) = opened();
    for _ in 0..3 {
        assert!(is_in_use(&path));
    }
    publish(&store, name(1));
}

#[test]
fn across_processes_until_the_holder_is_killed() {
    if common::plays(child_holds_it_or_finds_it_in_use) {
        return;
    }
    let (_temporary, path, store) = opened();
    let test = "across_processes_until_the_holder_is_killed";
    common::run(common::child(test, &path));
    drop(store);

    let mut holder = common::child(test, &path);
    holder.env(HOLDS, "");
    let mut child = common::start(holder);
    assert!(is_in_use(&path));
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert!(!is_in_use(&path));
}

#[test]
fn a_child_with_a_program_of_its_own_has_no_part_in_it() {
    if common::plays(child_waits) {
        return;
    }
    let (_temporary, path, store) = opened();
    let staged = store.stage(name(1)).expect("free");
    let mut child = common::start(common::child(
        "a_child_with_a_program_of_its_own_has_no_part_in_it",
        &path,
    ));
    drop((store, staged));
    assert!(!is_in_use(&path));
    #[cfg(target_os = "linux")]
    for descriptor in fs::read_dir(format!("/proc/{}/fd", child.id())).expect("listed") {
        let target = fs::read_link(descriptor.expect("an entry").path()).expect("a link");
        assert!(!target.starts_with(&path), "{target:?} was inherited");
    }
    child.kill().expect("kill");
    child.wait().expect("wait");
}

#[test]
fn no_lock_file() {
    let (_temporary, path, store) = opened();
    store.recover().expect("recovered");
    assert!(fs::read_dir(&path).expect("listed").next().is_none());
}

const HOLDS: &str = "TACHOGRAPH_TEST_HOLDS";

fn child_holds_it_or_finds_it_in_use(path: &Path) {
    let holds = std::env::var_os(HOLDS).is_some();
    let opened = PosixStore::open(path);
    match &opened {
        Ok(_) => assert!(holds, "it should have been in use"),
        Err(error) => {
            assert!(!holds, "it should have been free");
            assert_eq!(error.kind(), ErrorKind::InUse);
        }
    }
    common::child_done();
    if holds {
        common::child_waits();
    }
}

fn child_waits(_path: &Path) {
    common::child_done();
    common::child_waits();
}
