//! Which directories are accepted, and what is left alone when one is not.

#![cfg(unix)]

mod common;

use std::error::Error as _;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{mode, name, names, publish, set_mode, snapshot, temporary};
use tachograph_core::{Error, ErrorKind, Store as _};
use tachograph_storage_posix::PosixStore;
use tachograph_storage_posix::seam::{self, Call, Hook, Operation};

/// Expects that `path` is refused, in words that name the setting, quote the
/// path and contain `said`, and that nothing below `around` changes.
fn refused(around: &Path, path: &Path, kind: ErrorKind, said: &str) -> Error {
    let before = snapshot(around);
    let error = PosixStore::open(path).expect_err(said);
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    assert!(message.starts_with("directory \""), "{message}");
    assert!(message.contains(said), "{message:?} does not say {said:?}");
    assert!(message.contains(": "), "{message:?} gives no advice");
    assert_eq!(snapshot(around), before, "{message}");
    error
}

#[test]
fn a_path_that_is_not_absolute() {
    let around = temporary();
    for path in ["", "profiles", "./profiles", "../profiles", "."] {
        let said = format!("{path:?} is not absolute");
        refused(around.path(), Path::new(path), ErrorKind::Setting, &said);
        assert!(!Path::new("profiles").exists());
    }
}

#[test]
fn a_path_that_ends_in_dots() {
    let around = temporary();
    let inner = around.path().join("inner");
    fs::create_dir(&inner).expect("create");
    set_mode(around.path(), 0o700);
    for end in ["..", "../", "../.", ".././"] {
        let path = inner.join(end);
        let path = Path::new(path.as_os_str());
        refused(around.path(), path, ErrorKind::Setting, "ends in \"..\"");
    }
}

#[test]
fn a_symlink_however_it_is_written() {
    let around = temporary();
    let target = around.path().join("target");
    fs::create_dir(&target).expect("create");
    set_mode(&target, 0o700);
    symlink(&target, around.path().join("link")).expect("symlink");
    symlink("nowhere", around.path().join("dangling")).expect("symlink");
    for link in ["link", "dangling"] {
        for end in ["", "/", "//", "/.", "/./", "//././/"] {
            let path = format!("{}/{link}{end}", around.path().display());
            refused(
                around.path(),
                Path::new(&path),
                ErrorKind::Directory,
                &format!("/{link}\" is a symlink"),
            );
        }
    }
}

#[test]
fn no_directory() {
    let around = temporary();
    let path = around.path().join("it");
    fs::write(&path, "content").expect("write");
    set_mode(&path, 0o600);
    let said = "it\" is not a directory but a regular file";
    refused(around.path(), &path, ErrorKind::Directory, said);

    fs::remove_file(&path).expect("remove");
    common::make_fifo(&path);
    set_mode(&path, 0o600);
    let said = "it\" is not a directory but a FIFO";
    refused(around.path(), &path, ErrorKind::Directory, said);

    fs::remove_file(&path).expect("remove");
    let _socket = std::os::unix::net::UnixListener::bind(&path).expect("bind");
    set_mode(&path, 0o600);
    let said = "it\" is not a directory but a socket";
    refused(around.path(), &path, ErrorKind::Directory, said);

    let said = "null\" is not a directory but a device";
    let device = Path::new("/dev/null");
    refused(around.path(), device, ErrorKind::Directory, said);
}

#[test]
fn any_permission_for_others() {
    let around = temporary();
    let path = around.path().join("it");
    fs::create_dir(&path).expect("create");
    for bad in [
        0o750, 0o701, 0o755, 0o710, 0o720, 0o740, 0o702, 0o704, 0o777, 0o1770, 0o2750,
    ] {
        set_mode(&path, bad);
        let said = format!("it\" has mode {bad:04o}: it must have no permission for group");
        refused(around.path(), &path, ErrorKind::Directory, &said);
        assert_eq!(mode(&path), bad);
    }
    for good in [0o700, 0o1700, 0o2700] {
        set_mode(&path, good);
        drop(PosixStore::open(&path).expect("private"));
        assert_eq!(mode(&path), good);
    }
}

#[test]
fn the_root_directory() {
    let error = PosixStore::open(Path::new("/")).expect_err("not private");
    assert_eq!(error.kind(), ErrorKind::Directory, "{error}");
    let error = PosixStore::open(Path::new("/./")).expect_err("not private");
    assert!(error.to_string().starts_with("directory \"/\" "), "{error}");
}

#[test]
fn somebody_elses_directory() {
    if !common::is_root() {
        common::skipped("needs root, to give a directory away");
        // What is certainly somebody else's.
        let said = "belongs to user 0";
        refused(
            temporary().path(),
            Path::new("/"),
            ErrorKind::Directory,
            said,
        );
        return;
    }
    let around = temporary();
    let path = around.path().join("it");
    fs::create_dir(&path).expect("create");
    for bits in [0o700, 0o755] {
        set_mode(&path, bits);
        chown(&path, Some(common::NOBODY), Some(common::NOBODY)).expect("give away");
        let said = "it\" belongs to user 65534: it must belong to user 0";
        refused(around.path(), &path, ErrorKind::Directory, said);
    }
}

#[test]
fn an_ancestor_that_is_no_directory() {
    let around = temporary();
    fs::write(around.path().join("file"), "content").expect("write");
    symlink("loop", around.path().join("loop")).expect("symlink");
    symlink("nowhere", around.path().join("dangling")).expect("symlink");
    for path in ["file/it", "file/a/b/it", "loop/it", "dangling/it"] {
        let path = around.path().join(path);
        let error = refused(around.path(), &path, ErrorKind::Directory, "it\" ");
        assert!(error.source().is_some(), "{error}");
    }
}

#[test]
fn a_name_that_is_too_long_leaves_nothing_that_was_made_for_it() {
    let around = temporary();
    let path = around.path().join("a/b").join("x".repeat(300));
    let error = PosixStore::open(&path).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::Directory);
    assert!(names(around.path()).is_empty());

    // What stood there before stays.
    fs::create_dir(around.path().join("a")).expect("create");
    PosixStore::open(&path).expect_err("too long");
    assert_eq!(names(around.path()), ["a"]);
    assert!(names(&around.path().join("a")).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_parent_in_which_not_even_root_may_create() {
    let path = Path::new("/proc/tachograph/it");
    let error = PosixStore::open(path).expect_err("/proc is not for files");
    assert_eq!(error.kind(), ErrorKind::Directory);
    let message = error.to_string();
    let start = "directory \"/proc/tachograph/it\" does not exist and cannot be created";
    assert!(message.starts_with(start), "{message}");
    assert!(error.source().is_some());
}

#[test]
fn a_parent_in_which_this_user_may_not_create() {
    if common::plays(child_may_not_create) {
        return;
    }
    let around = temporary();
    let parent = around.path().join("parent");
    fs::create_dir(&parent).expect("create");
    set_mode(&parent, 0o555);
    if common::is_root() {
        if let Some(command) =
            common::child_as_nobody("a_parent_in_which_this_user_may_not_create", &parent)
        {
            common::run(command);
        }
    } else {
        may_not_create(&parent);
    }
    assert!(names(&parent).is_empty());
}

fn child_may_not_create(parent: &Path) {
    may_not_create(parent);
    common::child_done();
}

fn may_not_create(parent: &Path) {
    for path in ["it", "a/b/it"] {
        let path = parent.join(path);
        let said = "does not exist and cannot be created";
        let error = refused(parent, &path, ErrorKind::Directory, said);
        let source = error.source().and_then(|error| error.downcast_ref());
        let source: &io::Error = source.expect("caused by the system");
        assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn one_that_another_store_has_open() {
    let around = temporary();
    let path = around.path().join("it");
    let _store = PosixStore::open(&path).expect("free");
    fs::write(path.join("foreign"), "content").expect("write");
    refused(around.path(), &path, ErrorKind::InUse, "it\" is in use");
}

#[test]
fn what_is_missing_is_made_private() {
    let around = temporary();
    let path = around.path().join("a/b/c");
    drop(PosixStore::open(&path).expect("it can be made"));
    for made in ["a", "a/b", "a/b/c"] {
        assert_eq!(mode(&around.path().join(made)), 0o700, "{made}");
    }
    assert_eq!(mode(around.path()), 0o755);

    let beside = format!("{}/a/x/../y/./", around.path().display());
    drop(PosixStore::open(Path::new(&beside)).expect("it can be made"));
    assert_eq!(names(&around.path().join("a")), ["b", "x", "y"]);
    assert_eq!(mode(&around.path().join("a/y")), 0o700);
}

#[test]
fn symlinks_above_are_followed() {
    let around = temporary();
    let real = around.path().join("real");
    fs::create_dir(&real).expect("create");
    set_mode(&real, 0o755);
    symlink("real", around.path().join("link")).expect("symlink");
    let store = PosixStore::open(&around.path().join("link/a/it")).expect("it can be made");
    publish(&store, name(1));
    assert_eq!(names(&real.join("a/it")).len(), 2);
    drop(store);
    drop(PosixStore::open(&around.path().join("link/a/it/.")).expect("it exists"));
    assert_eq!(mode(&real), 0o755);
}

/// Puts a symlink where a directory is about to be made.
struct Forestalls {
    name: &'static str,
    target: PathBuf,
}

impl Hook for Forestalls {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        match call.name {
            Some(name) if call.operation == Operation::MakeDirectory && name == self.name => {
                Ok(rustix::fs::symlinkat(&self.target, call.descriptor, name)?)
            }
            _ => Ok(()),
        }
    }

    fn after(&self, _call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        outcome
    }
}

#[test]
fn what_comes_just_before_it_is_made_is_judged_like_what_stood_there() {
    let around = temporary();
    let target = around.path().join("target");
    fs::create_dir(&target).expect("create");
    set_mode(&target, 0o700);
    let open = |path: &str, name| {
        let target = target.clone();
        let _installed = seam::install(Arc::new(Forestalls { name, target }));
        PosixStore::open(&around.path().join(path))
    };

    let error = open("made/it", "it").expect_err("a symlink");
    assert!(error.to_string().contains("it\" is a symlink"), "{error}");
    assert!(names(&target).is_empty());

    drop(open("above/it", "above").expect("symlinks above are followed"));
    assert_eq!(names(&target), ["it"]);
}

#[test]
fn a_path_that_is_not_utf8() {
    let around = temporary();
    let path = around
        .path()
        .join(OsStr::from_bytes(b"\xff\xfe/pro\xc3files"));
    let store = match PosixStore::open(&path) {
        Ok(store) => store,
        // Apple's file systems take no such names.
        Err(error) if cfg!(target_vendor = "apple") => {
            return common::skipped(&format!("names must be UTF-8 here: {error}"));
        }
        Err(error) => panic!("{error}"),
    };
    publish(&store, name(1));
    assert_eq!(names(&path).len(), 2);
    let error = PosixStore::open(&path).expect_err("in use");
    assert!(error.to_string().contains("\\xFF\\xFE/pro\\xC3files"));
}

#[test]
fn a_path_that_changes_later_redirects_nothing() {
    let around = temporary();
    let path = around.path().join("it");
    let store = PosixStore::open(&path).expect("it can be made");
    fs::write(path.join(name(1).sidecar()), "alone").expect("write");
    let staged = store.stage(name(2)).expect("free");

    let moved = around.path().join("moved");
    fs::rename(&path, &moved).expect("rename");
    let decoy = around.path().join("decoy");
    fs::create_dir(&decoy).expect("create");
    fs::write(decoy.join(name(3).sidecar()), "alone").expect("write");
    symlink(&decoy, &path).expect("symlink");

    let decoy_before = snapshot(&decoy);
    staged.publish(b"sidecar", b"profile").expect("published");
    publish(&store, name(4));
    store.recover().expect("recovered");
    assert_eq!(store.usage(512).expect("counted").entries, 4);
    assert_eq!(snapshot(&decoy), decoy_before);
    let expected = [
        name(2).profile(),
        name(2).sidecar(),
        name(4).profile(),
        name(4).sidecar(),
    ];
    assert_eq!(names(&moved), expected);
}

#[test]
fn a_directory_that_is_removed_fails_captures_and_nothing_worse() {
    let around = temporary();
    let path = around.path().join("it");
    let store = PosixStore::open(&path).expect("it can be made");
    fs::remove_dir(&path).expect("remove");
    let error = store.stage(name(1)).err().expect("there is no place");
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(!path.exists());
}
