//! A capture is seen whole or not at all, and replaces nothing.

#![cfg(unix)]

mod common;
#[path = "common/faulty.rs"]
mod faulty;

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use common::{mode, name, names, opened, publish};
use faulty::{Fault, Faulty, How, Seen, System};
use rustix::io::Errno;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_core::{Error, ErrorKind, Store as _};
use tachograph_storage_posix::seam::{self, Operation};

fn read(path: &Path, name: &str) -> String {
    fs::read_to_string(path.join(name)).expect("readable")
}

fn os_error(error: &Error) -> std::io::ErrorKind {
    let source = error.source().and_then(|error| error.downcast_ref());
    let source: &std::io::Error = source.expect("caused by the system");
    source.kind()
}

#[test]
fn a_capture_from_its_partial_to_its_pair() {
    let (_temporary, path, store) = opened();
    let partial = name(1).entry(EntryKind::PartialProfile);
    let staged = store.stage(name(1)).expect("free");
    assert_eq!(names(&path), [partial.as_str()]);
    assert_eq!(mode(&path.join(&partial)), 0o600);
    let staged_inode = fs::metadata(path.join(&partial)).expect("it exists").ino();

    let profile = vec![7; 3 << 20];
    staged
        .publish(b"{\"Reason\":\"x\"}", &profile)
        .expect("published");
    assert_eq!(names(&path), [name(1).profile(), name(1).sidecar()]);
    assert_eq!(
        fs::read(path.join(name(1).profile())).expect("readable"),
        profile
    );
    assert_eq!(read(&path, &name(1).sidecar()), "{\"Reason\":\"x\"}");
    for entry in [name(1).profile(), name(1).sidecar()] {
        let stat = fs::metadata(path.join(entry)).expect("it exists");
        assert_eq!(stat.mode() & 0o7777, 0o600);
        assert_eq!(stat.nlink(), 1);
    }
    let published = fs::metadata(path.join(name(1).profile())).expect("it exists");
    assert_eq!(published.ino(), staged_inode);

    publish(&store, name(2));
    assert_eq!(names(&path).len(), 4);
}

#[test]
fn a_capture_of_nothing() {
    let (_temporary, path, store) = opened();
    let staged = store.stage(name(1)).expect("free");
    staged.publish(b"", b"").expect("published");
    assert_eq!(names(&path), [name(1).profile(), name(1).sidecar()]);
}

#[test]
fn a_dropped_capture_leaves_nothing() {
    let (_temporary, path, store) = opened();
    let first = store.stage(name(1)).expect("free");
    let second = store.stage(name(2)).expect("free");
    drop(first);
    assert_eq!(names(&path), [name(2).entry(EntryKind::PartialProfile)]);
    drop(second);
    assert!(names(&path).is_empty());
}

type Put = fn(&Path);

/// What somebody else may have put at a name that a capture needs.
fn in_the_way() -> [(&'static str, Put); 5] {
    [
        ("a file", |at| {
            fs::write(at, "somebody else's").expect("write")
        }),
        ("an empty file", |at| fs::write(at, "").expect("write")),
        ("a symlink", |at| symlink("target", at).expect("symlink")),
        ("a dangling symlink", |at| {
            symlink("nowhere", at).expect("symlink")
        }),
        ("a directory", |at| fs::create_dir(at).expect("create")),
    ]
}

#[test]
fn a_taken_final_or_partial_name_fails_the_capture_and_is_left() {
    for kind in [
        // For this one the sidecar has its final name already: that it is gone
        // again shows that it came first and was taken back.
        EntryKind::Profile,
        EntryKind::Sidecar,
        EntryKind::PartialSidecar,
    ] {
        for (what, put) in in_the_way() {
            let (_temporary, path, store) = opened();
            fs::write(path.join("target"), "untouched").expect("write");
            let staged = store.stage(name(1)).expect("free");
            let taken = name(1).entry(kind);
            put(&path.join(&taken));
            let mut before = common::snapshot(&path);
            let partial = path.join(name(1).entry(EntryKind::PartialProfile));
            before.retain(|(entry, ..)| *entry != partial);

            let error = staged.publish(b"sidecar", b"profile").expect_err(what);
            assert_eq!(error.kind(), ErrorKind::Storage);
            assert_eq!(
                os_error(&error),
                std::io::ErrorKind::AlreadyExists,
                "{error}"
            );
            assert!(error.to_string().contains(&taken), "{error}");
            assert_eq!(common::snapshot(&path), before, "{what} at {kind:?}");

            publish(&store, name(2));
        }
    }
}

#[test]
fn a_taken_partial_profile_is_refused_and_left() {
    for (what, put) in in_the_way() {
        let (_temporary, path, store) = opened();
        fs::write(path.join("target"), "untouched").expect("write");
        let taken = name(1).entry(EntryKind::PartialProfile);
        put(&path.join(&taken));
        let before = common::snapshot(&path);
        let error = store.stage(name(1)).err().expect(what);
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert_eq!(
            os_error(&error),
            std::io::ErrorKind::AlreadyExists,
            "{error}"
        );
        assert!(error.to_string().contains(&taken), "{error}");
        assert_eq!(common::snapshot(&path), before, "{what}");
    }
}

#[test]
fn one_name_is_staged_once() {
    let (_temporary, path, store) = opened();
    let first = store.stage(name(1)).expect("free");
    assert!(store.stage(name(1)).is_err());
    first.publish(b"sidecar", b"profile").expect("published");
    let again = store.stage(name(1)).expect("its partial is free");
    again
        .publish(b"other", b"other")
        .expect_err("published already");
    assert_eq!(names(&path), [name(1).profile(), name(1).sidecar()]);
    assert_eq!(read(&path, &name(1).profile()), "profile");
    assert_eq!(read(&path, &name(1).sidecar()), "sidecar");
}

#[test]
fn a_partial_that_somebody_replaced_is_neither_published_nor_removed() {
    for (what, put) in in_the_way() {
        for is_published in [true, false] {
            let (_temporary, path, store) = opened();
            fs::write(path.join("target"), "untouched").expect("write");
            let partial = path.join(name(1).entry(EntryKind::PartialProfile));
            let staged = store.stage(name(1)).expect("free");
            fs::rename(&partial, path.join("elsewhere")).expect("rename");
            put(&partial);
            let before = common::snapshot(&partial);
            if is_published {
                let error = staged.publish(b"sidecar", b"profile").expect_err(what);
                assert_eq!(error.kind(), ErrorKind::Storage);
            } else {
                drop(staged);
            }
            assert_eq!(common::snapshot(&partial), before, "{what}");
            assert_eq!(
                names(&path),
                [
                    name(1).entry(EntryKind::PartialProfile).as_str(),
                    "elsewhere",
                    "target"
                ]
            );
            assert_eq!(read(&path, "target"), "untouched");
        }
    }
}

#[test]
fn a_partial_that_somebody_removed_fails_the_capture() {
    let (_temporary, path, store) = opened();
    let staged = store.stage(name(1)).expect("free");
    fs::remove_file(path.join(name(1).entry(EntryKind::PartialProfile))).expect("remove");
    staged.publish(b"sidecar", b"profile").expect_err("removed");
    assert!(names(&path).is_empty());
    publish(&store, name(2));
}

fn count(hook: &Faulty, operation: Operation) -> usize {
    let is_it = |seen: &&Seen| seen.operation == operation;
    hook.seen().iter().filter(is_it).count()
}

#[test]
fn a_capture_is_published_where_files_are_renamed_in_two_steps() {
    let (_temporary, path, store) = opened();
    let hook = Faulty::new(System::RenamesInTwoSteps, []);
    let _installed = seam::install(hook.clone());
    publish(&store, name(1));
    assert_eq!(names(&path), [name(1).profile(), name(1).sidecar()]);
    assert_eq!(count(&hook, Operation::Link), 2);
}

#[test]
fn a_rename_that_failed_is_tried_in_no_other_way_and_leaves_nothing() {
    let (_temporary, _path, store) = opened();
    let calls = Faulty::new(System::Ordinary, []);
    {
        let _installed = seam::install(calls.clone());
        publish(&store, name(1));
    }
    let seen = calls.seen();
    let renames = (0..seen.len()).filter(|&at| seen[at].operation == Operation::Rename);
    for at in renames {
        for how in [How::Once, How::AfterTheEffect] {
            let (_temporary, path, store) = opened();
            let errno = Errno::IO;
            let hook = Faulty::new(System::Ordinary, [Fault { at, how, errno }]);
            let _installed = seam::install(hook.clone());
            let staged = store.stage(name(1)).expect("free");
            let error = staged.publish(b"sidecar", b"profile").expect_err("struck");
            assert!(error.to_string().starts_with("cannot rename"), "{error}");
            assert_eq!(count(&hook, Operation::Link), 0, "{how:?}");
            assert!(names(&path).is_empty(), "{how:?} at {at}");
        }
    }
}

/// What of the calls a power loss would make a difference to, in words.
fn lasting(seen: &[Seen]) -> Vec<String> {
    let told = |seen: &Seen| {
        let name = seen.new_name.as_ref().or(seen.name.as_ref());
        let name = name.map(|name| name.display().to_string());
        match seen.operation {
            Operation::Sync => Some("sync".to_owned()),
            Operation::Write => Some("write".to_owned()),
            Operation::Rename => name.map(|name| format!("rename to {name}")),
            Operation::Remove => name.map(|name| format!("remove {name}")),
            _ => None,
        }
    };
    seen.iter().filter_map(told).collect()
}

#[test]
fn a_capture_is_synced_before_and_after_each_name_and_taken_back_profile_first() {
    let [profile, sidecar] = [name(1).profile(), name(1).sidecar()];
    let published = [
        "write",
        "write",
        // The files.
        "sync",
        "sync",
        &format!("rename to {sidecar}"),
        "sync",
        &format!("rename to {profile}"),
        "sync",
    ];
    let (_temporary, _path, store) = opened();
    let calls = Faulty::new(System::Ordinary, []);
    {
        let _installed = seam::install(calls.clone());
        publish(&store, name(1));
    }
    let seen = calls.seen();
    assert_eq!(lasting(&seen), published);

    let (_temporary, path, store) = opened();
    let syncs = |seen: &Seen| seen.operation == Operation::Sync;
    let at = seen.iter().rposition(syncs).expect("the last sync");
    let (how, errno) = (How::Once, Errno::IO);
    let calls = Faulty::new(System::Ordinary, [Fault { at, how, errno }]);
    let _installed = seam::install(calls.clone());
    let staged = store.stage(name(1)).expect("free");
    staged.publish(b"sidecar", b"profile").expect_err("struck");
    let taken_back = [
        &format!("remove {profile}"),
        "sync",
        &format!("remove {sidecar}"),
        "sync",
    ];
    assert_eq!(lasting(&calls.seen()[at + 1..]), taken_back);
    assert!(names(&path).is_empty());
}

#[test]
fn dates_beyond_the_calendar_are_names_like_any() {
    use std::time::{Duration, SystemTime};
    let (_temporary, path, store) = opened();
    for start in [
        SystemTime::UNIX_EPOCH - Duration::from_nanos(1),
        SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40),
    ] {
        publish(&store, CaptureName::new(start));
    }
    assert_eq!(names(&path).len(), 4);
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_on_the_size_of_files_fails_the_capture_and_not_the_process() {
    if common::plays(child_with_small_files) {
        return;
    }
    let temporary = common::temporary();
    common::run(common::child(
        "a_limit_on_the_size_of_files_fails_the_capture_and_not_the_process",
        temporary.path(),
    ));
}

/// With SIGXFSZ as every process finds it: a write past the limit would be its
/// end.
#[cfg(target_os = "linux")]
fn child_with_small_files(parent: &Path) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let path = parent.join("profiles");
    let store = tachograph_storage_posix::PosixStore::open(&path).expect("it can be made");
    let bytes_max = Some(1000);
    let limit = Rlimit {
        current: bytes_max,
        maximum: bytes_max,
    };
    setrlimit(Resource::Fsize, limit).expect("limited");
    for (sidecar, profile) in [(10, 1001), (1001, 10), (10, 2001)] {
        let staged = store.stage(name(1)).expect("free");
        let error = staged
            .publish(&vec![1; sidecar], &vec![2; profile])
            .expect_err("too large");
        assert_eq!(
            os_error(&error),
            std::io::ErrorKind::FileTooLarge,
            "{error}"
        );
        let told = format!("{error:#}");
        assert!(
            told.contains(&format!("{} bytes", sidecar.max(profile)))
                && told.contains("RLIMIT_FSIZE is 1000"),
            "{told}"
        );
        assert!(names(&path).is_empty());
    }
    let staged = store.stage(name(1)).expect("free");
    staged.publish(&[1; 1000], &[2; 1000]).expect("just fits");
    assert_eq!(names(&path).len(), 2);
    common::child_done();
}
