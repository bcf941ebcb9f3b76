//! Every call to the system, and nothing else: relative to a descriptor,
//! close-on-exec, and never through a symlink in the last component unless the
//! name of the function says so.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use fs4::{FileExt, TryLockError};
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, Result, retry_on_intr};
use rustix::process::{Resource, Uid};

use crate::seam::{self, Call, Operation};

/// Owner only, for directories.
pub(crate) const DIRECTORY_MODE: Mode = Mode::RWXU;

/// Owner only, for files.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Makes a call, again as long as signals interrupt it: it has done nothing
/// then. Local file systems never say so of most calls, but those of other
/// machines and of other processes may.
fn again<T>(call: Call<'_>, mut make: impl FnMut() -> Result<T>) -> Result<T> {
    retry_on_intr(|| seam::pass(call, |_| make()))
}

/// Opens a directory.
pub(crate) fn open_directory(at: BorrowedFd<'_>, name: &Path) -> Result<File> {
    let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
    again(Call::at(Operation::OpenDirectory, at, name), || {
        rustix::fs::openat(at, name, flags, Mode::empty()).map(File::from)
    })
}

/// Opens a directory, through symlinks if need be.
pub(crate) fn open_directory_followed(at: BorrowedFd<'_>, name: &Path) -> Result<File> {
    again(Call::at(Operation::OpenDirectory, at, name), || {
        rustix::fs::openat(at, name, DIRECTORY_FLAGS, Mode::empty()).map(File::from)
    })
}

/// Makes a directory. The umask may take permissions from it.
pub(crate) fn make_directory(at: BorrowedFd<'_>, name: &Path) -> Result<()> {
    again(Call::at(Operation::MakeDirectory, at, name), || {
        rustix::fs::mkdirat(at, name, DIRECTORY_MODE)
    })
}

/// Sets the mode of the directory at `name`, which this user need not have
/// permission to open, if it is due by what it is. A symlink is left, and so is
/// what it leads to.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn set_directory_mode_if(
    at: BorrowedFd<'_>,
    name: &Path,
    is_due: impl Fn(&Stat) -> bool,
) -> Result<()> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = again(Call::at(Operation::OpenDirectory, at, name), || {
        rustix::fs::openat(at, name, flags, Mode::empty()).map(File::from)
    });
    let found = match found {
        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        found => found?,
    };
    if is_due(&stat(found.as_fd())?) {
        // Old kernels change no mode through such a descriptor, nor by name
        // without following. This name leads to what was found, and nowhere else.
        let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
        again(Call::at(Operation::SetModeOfEntry, at, name), || {
            rustix::fs::chmod(&itself, DIRECTORY_MODE)
        })?;
    }
    Ok(())
}

/// Sets the mode of the directory at `name`, which this user need not have
/// permission to open, if it is due by what it is. A symlink is left, and so is
/// what it leads to.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn set_directory_mode_if(
    at: BorrowedFd<'_>,
    name: &Path,
    is_due: impl Fn(&Stat) -> bool,
) -> Result<()> {
    if is_due(&stat_entry(at, name)?) {
        again(Call::at(Operation::SetModeOfEntry, at, name), || {
            rustix::fs::chmodat(at, name, DIRECTORY_MODE, AtFlags::SYMLINK_NOFOLLOW)
        })?;
    }
    Ok(())
}

/// What stands at `name`.
pub(crate) fn stat_entry(at: BorrowedFd<'_>, name: &Path) -> Result<Stat> {
    again(Call::at(Operation::StatEntry, at, name), || {
        rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
    })
}

/// What a descriptor refers to.
pub(crate) fn stat(file: BorrowedFd<'_>) -> Result<Stat> {
    again(Call::on(Operation::Stat, file), || rustix::fs::fstat(file))
}

/// Creates a file that did not exist. The umask may take permissions from it.
pub(crate) fn create_file(at: BorrowedFd<'_>, name: &Path) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    again(Call::at(Operation::Create, at, name), || {
        rustix::fs::openat(at, name, flags, FILE_MODE).map(File::from)
    })
}

/// Sets the mode of a file.
pub(crate) fn set_file_mode(file: BorrowedFd<'_>) -> Result<()> {
    again(Call::on(Operation::SetMode, file), || {
        rustix::fs::fchmod(file, FILE_MODE)
    })
}

/// Opens an existing file for writing. Should it not be a regular file after
/// all, this does not wait for anybody and changes nothing.
pub(crate) fn open_to_write(at: BorrowedFd<'_>, name: &Path) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    again(Call::at(Operation::OpenToWrite, at, name), || {
        rustix::fs::openat(at, name, flags, Mode::empty()).map(File::from)
    })
}

/// Writes all of `bytes` into a new file.
///
/// A write that begins past the process's limit on the size of files is not
/// only refused: the system sends SIGXFSZ with the refusal, which ends a process
/// that does not handle it. So no such write is tried.
pub(crate) fn write_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    if let Some(limit) = rustix::process::getrlimit(Resource::Fsize).current
        && bytes.len() as u64 > limit
    {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "it takes {} bytes, and this process's RLIMIT_FSIZE is {limit}: raise that to the \
                 size of a profile",
                bytes.len()
            ),
        ));
    }
    Writer(file.as_fd()).write_all(bytes)
}

/// A file to write to, with as many bytes at a time as the system takes.
struct Writer<'a>(BorrowedFd<'a>);

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let call = Call::on(Operation::Write, self.0).writing(bytes);
        Ok(seam::pass(call, |call| {
            rustix::io::write(self.0, call.bytes)
        })?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes all content from a file.
pub(crate) fn truncate(file: BorrowedFd<'_>) -> Result<()> {
    again(Call::on(Operation::Truncate, file), || {
        rustix::fs::ftruncate(file, 0)
    })
}

/// Returns once the file or directory would survive a power loss.
pub(crate) fn sync(file: BorrowedFd<'_>) -> Result<()> {
    again(Call::on(Operation::Sync, file), || sync_once(file))
}

/// On Apple's systems only `F_FULLFSYNC` promises it, where the file system has
/// that.
fn sync_once(file: BorrowedFd<'_>) -> Result<()> {
    #[cfg(target_vendor = "apple")]
    match rustix::fs::fcntl_fullfsync(file) {
        Err(errno) if is_unsupported(errno) => {}
        done => return done,
    }
    rustix::fs::fsync(file)
}

/// Lists a directory, from its beginning and on an open file of its own:
/// neither the position nor the lock of `directory` is touched. A listing that
/// failed is not to be read on.
pub(crate) fn list(directory: BorrowedFd<'_>) -> Result<impl Iterator<Item = Result<DirEntry>>> {
    let mut entries = again(Call::on(Operation::List, directory), || {
        Dir::read_from(directory)
    })?;
    let next = move || {
        let call = Call::on(Operation::NextEntry, directory);
        seam::pass(call, |_| entries.read().transpose()).transpose()
    };
    Ok(std::iter::from_fn(next))
}

/// Removes what stands at `name`, unless it is a directory.
pub(crate) fn remove(at: BorrowedFd<'_>, name: &Path) -> Result<()> {
    again(Call::at(Operation::Remove, at, name), || {
        rustix::fs::unlinkat(at, name, AtFlags::empty())
    })
}

/// Renames unless the new name is taken, in one step.
pub(crate) fn rename_to_free_name(at: BorrowedFd<'_>, from: &Path, to: &Path) -> Result<()> {
    again(Call::at(Operation::Rename, at, from).to(to), || {
        #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
        {
            rustix::fs::renameat_with(at, from, at, to, rustix::fs::RenameFlags::NOREPLACE)
        }
        #[cfg(not(any(target_vendor = "apple", target_os = "linux", target_os = "android")))]
        Err(Errno::NOSYS)
    })
}

/// Removes a directory, if it is empty.
pub(crate) fn remove_directory(at: BorrowedFd<'_>, name: &Path) -> Result<()> {
    again(Call::at(Operation::RemoveDirectory, at, name), || {
        rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR)
    })
}

/// Gives a file a second name, unless that is taken.
pub(crate) fn link(at: BorrowedFd<'_>, from: &Path, to: &Path) -> Result<()> {
    again(Call::at(Operation::Link, at, from).to(to), || {
        rustix::fs::linkat(at, from, at, to, AtFlags::empty())
    })
}

/// How many bytes this process could still write. File systems that count no
/// blocks, such as a tmpfs without a limit, cannot tell.
pub(crate) fn bytes_free(file: BorrowedFd<'_>) -> Result<Option<u64>> {
    let space = again(Call::on(Operation::FreeSpace, file), || {
        rustix::fs::fstatvfs(file)
    })?;
    Ok((space.f_blocks != 0).then(|| space.f_bavail.saturating_mul(space.f_frsize)))
}

/// Locks a directory, or fails with [`Errno::WOULDBLOCK`] if another open file
/// has it locked.
pub(crate) fn try_lock(directory: &File) -> Result<()> {
    again(Call::on(Operation::Lock, directory.as_fd()), || {
        FileExt::try_lock(directory).map_err(|error| match error {
            TryLockError::WouldBlock => Errno::WOULDBLOCK,
            TryLockError::Error(error) => errno_of(&error),
        })
    })
}

/// Unlocks a directory, for all who share its open file.
pub(crate) fn unlock(directory: &File) -> Result<()> {
    again(Call::on(Operation::Unlock, directory.as_fd()), || {
        FileExt::unlock(directory).map_err(|error| errno_of(&error))
    })
}

/// What the system said; [`Errno::IO`] if the error is not the system's.
fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// As whom this process acts.
pub(crate) fn effective_user() -> Uid {
    rustix::process::geteuid()
}

/// Whether an error says that the file system or the kernel does not know the
/// operation, rather than that it failed.
pub(crate) fn is_unsupported(errno: Errno) -> bool {
    // Two names of one number on some systems, so no pattern.
    errno == Errno::INVAL
        || errno == Errno::NOSYS
        || errno == Errno::NOTSUP
        || errno == Errno::OPNOTSUPP
}

/// Whether this is a regular file.
pub(crate) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

/// Whether both describe one and the same file.
pub(crate) fn is_same_file(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

/// Whether the file belongs to the user as whom this process acts.
pub(crate) fn is_owned(stat: &Stat) -> bool {
    Uid::from_raw(stat.st_uid) == effective_user()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::CWD;
    use rustix::io::FdFlags;

    use super::*;

    #[test]
    fn no_descriptor_goes_on_to_another_program() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = open_directory(CWD, temporary.path()).expect("it exists");
        let followed = open_directory_followed(CWD, temporary.path()).expect("it exists");
        let created = create_file(directory.as_fd(), Path::new("it")).expect("free");
        let to_write = open_to_write(directory.as_fd(), Path::new("it")).expect("it exists");
        for file in [directory, followed, created, to_write] {
            let flags = rustix::io::fcntl_getfd(&file).expect("it is open");
            assert!(flags.contains(FdFlags::CLOEXEC), "{file:?}");
        }
    }

    #[test]
    fn an_open_to_write_neither_waits_nor_follows() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = open_directory(CWD, temporary.path()).expect("it exists");
        let file = create_file(directory.as_fd(), Path::new("it")).expect("free");
        write_all(&file, b"content").expect("written");
        symlink("it", temporary.path().join("link")).expect("symlink");

        let opened = open_to_write(directory.as_fd(), Path::new("it")).expect("it exists");
        let flags = rustix::fs::fcntl_getfl(&opened).expect("it is open");
        assert!(
            flags.contains(OFlags::WRONLY | OFlags::NONBLOCK),
            "{flags:?}"
        );
        assert_eq!(stat(opened.as_fd()).expect("it is open").st_size, 7);

        open_to_write(directory.as_fd(), Path::new("link")).expect_err("a symlink");
        open_to_write(directory.as_fd(), Path::new("new")).expect_err("nothing is there");
    }

    #[test]
    fn it_is_the_system_that_is_asked_to_sync() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = open_directory(CWD, temporary.path()).expect("it exists");
        sync(directory.as_fd()).expect("it can be synced");
        let (reader, _writer) = io::pipe().expect("a pipe");
        sync(reader.as_fd()).expect_err("a pipe is nowhere to be kept");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_but_a_directory_is_judged_due_a_mode() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = open_directory(CWD, temporary.path()).expect("it exists");
        fs::create_dir(temporary.path().join("directory")).expect("create");
        symlink("directory", temporary.path().join("link")).expect("symlink");
        fs::write(temporary.path().join("file"), "").expect("write");
        for name in ["link", "file"] {
            set_directory_mode_if(directory.as_fd(), Path::new(name), |found| {
                panic!("{name} with mode {:o} was judged", found.st_mode)
            })
            .expect("it is left");
        }
    }
}
