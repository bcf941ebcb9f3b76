//! Who may use the directory.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use tachograph_core::{Error, ErrorKind};

use crate::sys;

/// How often a lock is tried that somebody else has.
const TRIES: u32 = 10;
/// How long after each other.
const APART: Duration = Duration::from_millis(2);

/// An opened directory, locked until it is released or dropped.
///
/// The lock belongs to the open file, which a forked child shares. So it is
/// released in so many words (closing would leave it to the child), and only
/// in the process that took it (a child would take it from its parent).
#[derive(Debug)]
pub(crate) struct LockedDirectory {
    directory: File,
    process: u32,
    is_held: AtomicBool,
}

impl LockedDirectory {
    /// Locks `directory`, which was opened at `path`.
    pub(crate) fn lock(directory: File, path: &Path) -> Result<Self, Error> {
        match patiently(|| sys::try_lock(&directory)) {
            Ok(()) => Ok(Self {
                directory,
                process: std::process::id(),
                is_held: AtomicBool::new(true),
            }),
            Err(Errno::WOULDBLOCK) => Err(Error::new(
                ErrorKind::InUse,
                format!(
                    "directory {path:?} is in use: another recorder, of this process or another, \
                     has locked it; set a directory of its own for each"
                ),
            )),
            Err(errno) => Err(cannot_lock(path, errno)),
        }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Whether this is the process that took the lock, and not its child.
    pub(crate) fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Fails unless the lock is held here and now.
    pub(crate) fn ensure_held(&self) -> Result<(), Error> {
        if !self.is_own_process() {
            Err(Error::new(
                ErrorKind::Storage,
                format!(
                    "the private directory was opened by process {}, whose child this is: only \
                     that one may use it",
                    self.process
                ),
            ))
        } else if !self.is_held.load(Ordering::Acquire) {
            Err(Error::new(
                ErrorKind::Storage,
                "the private directory was closed already",
            ))
        } else {
            Ok(())
        }
    }

    /// Lets go of the lock, for forked children too.
    pub(crate) fn release(&self) {
        if self.is_own_process() && self.is_held.swap(false, Ordering::AcqRel) {
            // There is nobody to tell, and the descriptor is closed soon.
            let _ = sys::unlock(&self.directory);
        }
    }
}

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        self.release();
    }
}

/// Tries again while somebody else has the lock, for as long as a reader has it that only
/// looks whether a recorder is at work.
fn patiently(try_lock: impl Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    for _ in 1..TRIES {
        match try_lock() {
            Err(Errno::WOULDBLOCK) => thread::sleep(APART),
            outcome => return outcome,
        }
    }
    try_lock()
}

fn cannot_lock(path: &Path, errno: Errno) -> Error {
    Error::new(
        ErrorKind::Directory,
        format!(
            "directory {path:?} cannot be locked: set one on a file system that can lock \
             directories"
        ),
    )
    .with_source(io::Error::from(errno))
}
