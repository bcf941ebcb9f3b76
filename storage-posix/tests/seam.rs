//! The seam itself: who sees what, and what can be done there.

#![cfg(unix)]

mod common;
#[path = "common/faulty.rs"]
mod faulty;

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use common::{name, opened, publish};
use faulty::{Fault, Faulty, How, System};
use rustix::io::Errno;
use tachograph_core::{ErrorKind, Store as _};
use tachograph_storage_posix::PosixStore;
use tachograph_storage_posix::seam::{self, Call, Hook, Operation};

fn silent() -> Arc<Faulty> {
    Faulty::new(System::Ordinary, [])
}

#[test]
fn a_hook_sees_the_calls_of_its_thread_while_it_is_installed() {
    let (_temporary, _path, store) = opened();
    let (outer, inner) = (silent(), silent());
    store.usage(1).expect("counted");
    let installed = seam::install(outer.clone());
    {
        let _installed = seam::install(inner.clone());
        store.usage(1).expect("counted");
    }
    assert!(outer.seen().is_empty());
    std::thread::scope(|scope| {
        scope.spawn(|| store.usage(1).expect("counted"));
    });
    assert!(outer.seen().is_empty());

    store.usage(1).expect("counted");
    drop(installed);
    store.usage(1).expect("counted");
    let operations =
        |hook: &Faulty| -> Vec<_> { hook.seen().iter().map(|seen| seen.operation).collect() };
    let of_usage = [
        Operation::List,
        // Itself, what is above it, and that there is no more.
        Operation::NextEntry,
        Operation::NextEntry,
        Operation::NextEntry,
        Operation::FreeSpace,
    ];
    assert_eq!(operations(&inner), of_usage);
    assert_eq!(operations(&outer), of_usage);
}

#[test]
fn a_call_is_not_made_or_its_success_not_told() {
    for (how, is_made) in [(How::Once, false), (How::AfterTheEffect, true)] {
        let (_temporary, path, store) = opened();
        let partial = name(1).entry(tachograph_core::store::EntryKind::PartialProfile);
        fs::write(path.join(&partial), "content").expect("write");
        let calls = silent();
        {
            let _installed = seam::install(calls.clone());
            store.recover().expect("recovered");
        }
        let truncates = |seen: &faulty::Seen| seen.operation == Operation::Truncate;
        let at = calls.seen().iter().position(truncates).expect("emptied");
        fs::write(path.join(&partial), "content").expect("write");
        let errno = Errno::DQUOT;
        let _installed = seam::install(Faulty::new(System::Ordinary, [Fault { at, how, errno }]));
        store.recover().expect_err("it is told so");
        let length = fs::metadata(path.join(&partial)).expect("it stands").len();
        assert_eq!(length == 0, is_made, "{how:?}");
    }
}

#[test]
fn what_is_written_can_be_cut_short() {
    let (_temporary, path, store) = opened();
    let hook = Faulty::new(System::WritesShort, []);
    {
        let _installed = seam::install(hook.clone());
        publish(&store, name(1));
    }
    let writes = |seen: &&faulty::Seen| seen.operation == Operation::Write;
    assert_eq!(
        hook.seen().iter().filter(writes).count(),
        "sidecarprofile".len()
    );
    let profile = fs::read(path.join(name(1).profile())).expect("readable");
    assert_eq!(profile, b"profile");
}

/// Has a reader's lock while the first tries to lock are made.
struct Reader {
    directory: std::path::PathBuf,
    /// Tries that find it locked.
    tries: u32,
    state: Mutex<(u32, Option<fs::File>)>,
}

impl Hook for Reader {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        if call.operation == Operation::Lock {
            let (seen, lock) = &mut *self.state.lock().expect("unpoisoned");
            *seen += 1;
            if *seen == 1 {
                let directory = fs::File::open(&self.directory)?;
                directory.lock_shared()?;
                *lock = Some(directory);
            }
            if *seen > self.tries {
                *lock = None;
            }
        }
        Ok(())
    }

    fn after(&self, _: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        outcome
    }
}

#[test]
fn a_reader_that_looks_whether_it_is_locked_keeps_no_recorder_out() {
    for (tries, seen) in [(1, 2), (5, 6), (u32::MAX, 10)] {
        let (_temporary, directory, store) = opened();
        drop(store);
        let reader = Arc::new(Reader {
            directory: directory.clone(),
            tries,
            state: Mutex::default(),
        });
        let installed = seam::install(reader.clone());
        let opened = PosixStore::open(&directory);
        drop(installed);
        assert_eq!(reader.state.lock().expect("unpoisoned").0, seen);
        match opened {
            Ok(_) => assert_ne!(tries, u32::MAX),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InUse);
                assert_eq!(tries, u32::MAX);
            }
        }
    }
}
