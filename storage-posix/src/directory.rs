//! The private directory: one descriptor, and what is done relative to it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::Stat;
use rustix::io::Errno;
use tachograph_core::{Error, ErrorKind};

use crate::lock::LockedDirectory;
use crate::{open, sys};

/// A directory that was judged private and is locked. Its path is forgotten.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    lock: LockedDirectory,
}

impl PrivateDir {
    /// Opens or makes the directory at `path`, judges and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let directory = open::open(path)?;
        Ok(Self {
            lock: LockedDirectory::lock(directory, path)?,
        })
    }

    pub(crate) fn lock(&self) -> &LockedDirectory {
        &self.lock
    }

    fn at(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    /// The names of all that stands in the directory now, read afresh.
    pub(crate) fn names(&self) -> Result<impl Iterator<Item = Result<OsString, Error>>, Error> {
        let failed = |errno| failed("list the private directory", errno);
        let entries = sys::list(self.at()).map_err(failed)?;
        Ok(entries
            .map(move |entry| {
                let entry = entry.map_err(failed)?;
                Ok(OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
            })
            .filter(|name| !matches!(name, Ok(name) if name == "." || name == "..")))
    }

    /// What stands at `name`, if anything does.
    pub(crate) fn stat(&self, name: &OsStr) -> Result<Option<Stat>, Error> {
        match sys::stat_entry(self.at(), name.as_ref()) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(format_args!("look at {name:?}"), errno)),
        }
    }

    /// Whether `name` is the file that `stat` describes.
    pub(crate) fn is_at(&self, name: &str, stat: &Stat) -> Result<bool, Error> {
        match sys::stat_entry(self.at(), name.as_ref()) {
            Ok(found) => Ok(sys::is_same_file(&found, stat)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed(format_args!("look at {name:?}"), errno)),
        }
    }

    /// Creates a file, for this user only. Nothing may stand at `name`.
    pub(crate) fn create(&self, name: &str) -> Result<(File, Stat), Error> {
        let failed = |errno| failed(format_args!("create {name:?}"), errno);
        let file = sys::create_file(self.at(), name.as_ref()).map_err(failed)?;
        let prepared = sys::set_file_mode(file.as_fd()).and_then(|()| sys::stat(file.as_fd()));
        match prepared {
            Ok(stat) => Ok((file, stat)),
            Err(errno) => {
                let _ = sys::remove(self.at(), name.as_ref());
                Err(failed(errno))
            }
        }
    }

    /// Takes the content from a regular file of this user. One that has another
    /// owner or a second name is left: the latter may be a published profile,
    /// after a crash between the two steps of a rename.
    pub(crate) fn empty(&self, name: &str) -> Result<(), Error> {
        let failed = |errno| failed(format_args!("empty {name:?}"), errno);
        let is_due = |stat: &Stat| {
            sys::is_regular(stat) && stat.st_nlink == 1 && sys::is_owned(stat) && stat.st_size != 0
        };
        match sys::stat_entry(self.at(), name.as_ref()) {
            Ok(stat) if is_due(&stat) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(failed(errno)),
        }
        let file = sys::open_to_write(self.at(), name.as_ref()).map_err(failed)?;
        let opened = sys::stat(file.as_fd()).map_err(failed)?;
        if is_due(&opened) {
            sys::truncate(file.as_fd()).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes a regular file, if it is still there.
    pub(crate) fn remove_regular(&self, name: &str) -> Result<(), Error> {
        let failed = |errno| failed(format_args!("remove {name:?}"), errno);
        match sys::stat_entry(self.at(), name.as_ref()) {
            Ok(stat) if sys::is_regular(&stat) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(failed(errno)),
        }
        match sys::remove(self.at(), name.as_ref()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Removes `name` if it is the file that `stat` describes.
    pub(crate) fn remove_same(&self, name: &str, stat: &Stat) {
        if matches!(self.is_at(name, stat), Ok(true)) {
            // The caller is failing already, and has nothing better to tell.
            let _ = sys::remove(self.at(), name.as_ref());
        }
    }

    /// Renames the file that `stat` describes. Nothing may stand at `to`. After
    /// an error it has its old name only, if any.
    pub(crate) fn rename(&self, from: &str, to: &str, stat: &Stat) -> Result<(), Error> {
        let renamed = match sys::rename_to_free_name(self.at(), from.as_ref(), to.as_ref()) {
            Err(errno) if sys::is_unsupported(errno) => self.link_and_remove(from, to),
            done => done,
        };
        renamed.map_err(|errno| {
            // The second of two steps may have failed, or the answer of a
            // distant file system been lost.
            if errno != Errno::EXIST {
                self.remove_same(to, stat);
            }
            failed(format_args!("rename {from:?} to {to:?}"), errno)
        })
    }

    /// Renames in two steps, neither of which replaces anything.
    fn link_and_remove(&self, from: &str, to: &str) -> rustix::io::Result<()> {
        sys::link(self.at(), from.as_ref(), to.as_ref())?;
        sys::remove(self.at(), from.as_ref())
    }

    /// Returns once the names in the directory would survive a power loss.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sys::sync(self.at()).map_err(|errno| failed("sync the private directory", errno))
    }

    /// How many bytes could still be written.
    pub(crate) fn bytes_free(&self) -> Result<Option<u64>, Error> {
        sys::bytes_free(self.at())
            .map_err(|errno| failed("ask for the free space of the private directory", errno))
    }
}

/// The error of an operation on an entry.
pub(crate) fn failed(operation: impl std::fmt::Display, cause: impl Into<io::Error>) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot {operation}")).with_source(cause.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn private_dir() -> (tempfile::TempDir, PrivateDir) {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o700))
            .expect("set the mode");
        let dir = PrivateDir::open(temporary.path()).expect("private");
        (temporary, dir)
    }

    fn is_taken(error: &Error) -> bool {
        std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|source| source.kind() == io::ErrorKind::AlreadyExists)
    }

    #[test]
    fn neither_way_to_rename_replaces() {
        let (temporary, dir) = private_dir();
        let at = |name: &str| temporary.path().join(name);
        for rename in [
            |dir: &PrivateDir, from: &str, to: &str| {
                let stat = sys::stat_entry(dir.at(), from.as_ref()).expect("it exists");
                dir.rename(from, to, &stat)
            },
            |dir: &PrivateDir, from: &str, to: &str| {
                dir.link_and_remove(from, to)
                    .map_err(|e| failed("rename", e))
            },
        ] {
            fs::write(at("from"), "new").expect("write");
            fs::write(at("taken"), "old").expect("write");
            let error = rename(&dir, "from", "taken").expect_err("taken");
            assert!(is_taken(&error), "{error:?}");
            assert_eq!(fs::read_to_string(at("from")).expect("read"), "new");
            assert_eq!(fs::read_to_string(at("taken")).expect("read"), "old");

            std::os::unix::fs::symlink("nowhere", at("dangling")).expect("symlink");
            let error = rename(&dir, "from", "dangling").expect_err("taken");
            assert!(is_taken(&error), "{error:?}");

            rename(&dir, "from", "free").expect("free");
            assert!(!at("from").exists());
            assert_eq!(fs::read_to_string(at("free")).expect("read"), "new");
            for name in ["taken", "dangling", "free"] {
                fs::remove_file(at(name)).expect("remove");
            }
        }
    }

    #[test]
    fn only_what_no_kernel_knows_takes_the_second_way() {
        for errno in [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP] {
            assert!(sys::is_unsupported(errno), "{errno}");
        }
        for errno in [
            Errno::EXIST,
            Errno::ACCESS,
            Errno::NOENT,
            Errno::NOSPC,
            Errno::IO,
        ] {
            assert!(!sys::is_unsupported(errno), "{errno}");
        }
    }

    #[test]
    fn two_listings_at_once_each_see_everything() {
        let (temporary, dir) = private_dir();
        for number in 0..100 {
            fs::write(temporary.path().join(number.to_string()), "").expect("write");
        }
        let mut first = dir.names().expect("list");
        first.next().expect("a name").expect("readable");
        assert_eq!(dir.names().expect("list").count(), 100);
        assert_eq!(first.count(), 99);
        assert_eq!(dir.names().expect("list").count(), 100);
    }
}
