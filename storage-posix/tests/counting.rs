//! What stands in the directory, counted.

#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use common::{name, opened, publish};
use tachograph_core::Store as _;

#[test]
fn every_entry_counts_and_regular_files_have_bytes() {
    let (temporary, path, store) = opened();
    let usage = store.usage(512).expect("counted");
    assert_eq!((usage.entries, usage.bytes), (0, 0));

    publish(&store, name(1));
    let outside = temporary.path().join("outside");
    fs::write(&outside, vec![0; 100_000]).expect("write");
    symlink(&outside, path.join("link")).expect("symlink");
    symlink("nowhere", path.join("dangling")).expect("symlink");
    fs::create_dir(path.join("directory")).expect("create");
    fs::write(path.join("directory/file"), vec![0; 100_000]).expect("write");
    common::make_fifo(&path.join("fifo"));
    fs::write(path.join(".hidden"), vec![0; 1000]).expect("write");
    let sparse = fs::File::create(path.join("sparse")).expect("create");
    sparse.set_len(1 << 40).expect("sized");
    let mut entries = 2 + 6;
    if cfg!(not(target_vendor = "apple")) {
        fs::write(path.join(OsStr::from_bytes(b"\xff")), "").expect("write");
        entries += 1;
    }
    let usage = store.usage(512).expect("counted");
    assert_eq!(usage.entries, entries);
    assert_eq!(usage.bytes, 7 + 7 + 1000 + (1 << 40));
}

#[test]
fn counting_stops_once_there_are_too_many() {
    let (_temporary, path, store) = opened();
    for number in 0..100 {
        fs::write(path.join(number.to_string()), "x").expect("write");
    }
    for enough in [0, 1, 50, 99] {
        let usage = store.usage(enough).expect("counted");
        assert_eq!(usage.entries, enough + 1);
        assert_eq!(usage.bytes, enough);
    }
    for enough in [100, 101, u64::MAX] {
        let usage = store.usage(enough).expect("counted");
        assert_eq!(usage.entries, 100);
        assert_eq!(usage.bytes, 100);
    }
}

#[test]
fn each_count_is_of_now() {
    let (_temporary, path, store) = opened();
    for number in 0..5 {
        assert_eq!(store.usage(512).expect("counted").entries, number);
        fs::write(path.join(number.to_string()), "").expect("write");
    }
    let staged = store.stage(name(1)).expect("free");
    assert_eq!(store.usage(512).expect("counted").entries, 6);
    drop(staged);
    assert_eq!(store.usage(512).expect("counted").entries, 5);
}

#[test]
fn the_free_space_is_that_of_the_file_system() {
    let (_temporary, path, store) = opened();
    let usage = store.usage(512).expect("counted");
    let space = rustix::fs::statvfs(&path).expect("the free space");
    let free = usage.bytes_free.expect("known");
    assert!(free > 0);
    assert!(free <= space.f_blocks * space.f_frsize);
    assert_eq!(free % space.f_frsize, 0, "whole blocks");
}
