//! A child that is forked without exec shares the open directory, and so the
//! lock. The only test of its program: no other thread may be in the way of a
//! fork.

#![cfg(unix)]

mod common;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use common::{name, names, opened};
use tachograph_core::store::{EntryKind, StagedCapture};
use tachograph_core::{ErrorKind, Store as _};
use tachograph_storage_posix::PosixStore;

/// A forked child that has done what it was told and waits.
struct Forked {
    process: libc::pid_t,
    stream: UnixStream,
}

/// Forks. The child runs `work`, and then waits until it is let go.
fn fork(work: impl FnOnce() -> bool) -> Forked {
    let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
    // SAFETY: the only other thread is that of the test harness, which waits
    // for this one and holds no lock.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "fork failed");
    if process == 0 {
        drop(ours);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        let _ = theirs.write_all(&[u8::from(done)]);
        let _ = theirs.read(&mut [0]);
        // SAFETY: the child ends here, without running what is the parent's.
        unsafe { libc::_exit(0) };
    }
    drop(theirs);
    let mut done = [0];
    ours.read_exact(&mut done).expect("the child answers");
    assert_eq!(done, [1], "the child failed");
    Forked {
        process,
        stream: ours,
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let waited = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
        assert_eq!(waited, self.process);
    }
}

fn is_in_use(path: &std::path::Path) -> bool {
    PosixStore::open(path).is_err_and(|error| error.kind() == ErrorKind::InUse)
}

/// A copy of a value, as a fork makes one: to be dropped in the child alone.
struct Copied<T>(Option<T>);

impl<T> Copied<T> {
    fn take(&mut self) -> T {
        self.0.take().expect("taken once")
    }
}

#[test]
fn a_forked_child_is_inert_and_shares_the_lock() {
    let (_temporary, path, store) = opened();
    let mut store = Copied(Some(store));
    let mut staged: Copied<Box<dyn StagedCapture>> = Copied(Some(
        store
            .0
            .as_ref()
            .expect("there")
            .stage(name(1))
            .expect("free"),
    ));
    let mut other = Copied(Some(
        store
            .0
            .as_ref()
            .expect("there")
            .stage(name(2))
            .expect("free"),
    ));
    let partials = [name(1), name(2)].map(|name| name.entry(EntryKind::PartialProfile));

    // The child's copies do nothing, and dropping them does nothing either.
    let child = fork(|| {
        let store = store.take();
        let refused = [
            store.recover().err(),
            store.usage(512).err(),
            store.stage(name(3)).err(),
            staged.take().publish(b"sidecar", b"profile").err(),
        ];
        store.close();
        drop(store);
        drop(other.take());
        refused.iter().all(|error| {
            error.as_ref().is_some_and(|error| {
                error.kind() == ErrorKind::Storage && error.to_string().contains("whose child")
            })
        })
    });
    assert_eq!(names(&path), partials);
    assert!(is_in_use(&path));
    drop(child);
    assert_eq!(names(&path), partials);
    assert!(is_in_use(&path));

    // The parent unlocks for both, though the child still shares the file.
    let child = fork(|| true);
    staged
        .take()
        .publish(b"sidecar", b"profile")
        .expect("the parent's own");
    drop(other.take());
    assert_eq!(names(&path), [name(1).profile(), name(1).sidecar()]);
    drop(store.take());
    assert!(!is_in_use(&path));
    drop(child);

    // So does closing.
    let store = PosixStore::open(&path).expect("free");
    let child = fork(|| true);
    store.close();
    assert!(!is_in_use(&path));
    drop(child);
    drop(store);

    // A parent that dies without unlocking leaves the lock to its child.
    let (mut grandchild_is_let_go, grandchild_waits) = UnixStream::pair().expect("a pair");
    let parent = fork(|| {
        let store = PosixStore::open(&path).expect("free");
        // SAFETY: as in `fork`.
        let grandchild = unsafe { libc::fork() };
        if grandchild == 0 {
            let _ = (&grandchild_waits).read(&mut [0]);
            // SAFETY: as in `fork`.
            unsafe { libc::_exit(0) };
        }
        std::mem::forget(store);
        grandchild > 0
    });
    drop(grandchild_waits);
    drop(parent);
    assert!(is_in_use(&path), "the grandchild does not hold the lock");
    grandchild_is_let_go.write_all(&[0]).expect("it waits");
    let directory = std::fs::File::open(&path).expect("it exists");
    directory
        .lock()
        .expect("waits until the grandchild is gone");
    drop(directory);
    drop(PosixStore::open(&path).expect("free"));
}
