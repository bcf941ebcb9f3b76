//! What somebody may try against a private directory.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

/// Against what.
pub(crate) struct Target {
    /// The private directory.
    pub(crate) directory: PathBuf,
    /// An entry that stands in it now.
    pub(crate) entry: String,
    /// The process that records.
    pub(crate) process: u32,
    /// Somewhere else, where whoever tries may do anything.
    pub(crate) own: PathBuf,
}

impl Target {
    fn at(&self) -> PathBuf {
        self.directory.join(&self.entry)
    }

    /// A name that the capture will need.
    fn needed(&self) -> PathBuf {
        let needed = self.entry.strip_suffix(".partial");
        self.directory
            .join(needed.map_or_else(|| format!("{}.partial", self.entry), str::to_owned))
    }

    fn bait(&self) -> io::Result<PathBuf> {
        let bait = self.own.join("bait");
        fs::write(&bait, BAIT)?;
        Ok(bait)
    }

    fn loot(&self) -> PathBuf {
        self.own.join("loot")
    }

    fn parent(&self) -> &Path {
        self.directory.parent().expect("it has one")
    }
}

/// What whoever tries would have others read or write.
pub(crate) const BAIT: &str = "bait";

type Attempt = fn(&Target) -> io::Result<()>;

pub(crate) const ATTEMPTS: [(&str, Attempt); 29] = [
    ("list", |it| fs::read_dir(&it.directory).map(drop)),
    ("open", |it| File::open(&it.directory).map(drop)),
    ("enter", |it| {
        std::env::set_current_dir(&it.directory)?;
        std::env::set_current_dir("/")
    }),
    ("lock", |it| {
        File::open(&it.directory)?
            .try_lock()
            .map_err(io::Error::from)
    }),
    ("watch", |it| watch(&it.directory)),
    ("watch an entry", |it| watch(&it.at())),
    ("look at an entry", |it| {
        it.at().symlink_metadata().map(drop)
    }),
    ("read", |it| fs::read(it.at()).map(drop)),
    ("write", |it| {
        OpenOptions::new().append(true).open(it.at()).map(drop)
    }),
    ("truncate", |it| File::create(it.at()).map(drop)),
    ("make a file", |it| {
        File::create_new(it.directory.join("mine")).map(drop)
    }),
    ("make a directory", |it| {
        fs::create_dir(it.directory.join("mine too"))
    }),
    ("take a name", |it| File::create_new(it.needed()).map(drop)),
    ("take a name by a directory", |it| {
        fs::create_dir(it.needed())
    }),
    ("plant a symlink", |it| symlink(it.bait()?, it.needed())),
    ("plant a hard link", |it| {
        fs::hard_link(it.bait()?, it.needed())
    }),
    ("plant by renaming", |it| {
        fs::rename(it.bait()?, it.needed())
    }),
    ("replace an entry", |it| fs::rename(it.bait()?, it.at())),
    ("link out", |it| fs::hard_link(it.at(), it.loot())),
    ("rename out", |it| fs::rename(it.at(), it.loot())),
    ("rename within", |it| {
        fs::rename(it.at(), it.directory.join("renamed"))
    }),
    ("remove", |it| fs::remove_file(it.at())),
    ("open the directory to all", |it| {
        chmod(&it.directory, 0o777)
    }),
    ("open an entry to all", |it| chmod(&it.at(), 0o666)),
    ("change its owner", |it| {
        chown(&it.directory, Some(crate::NOBODY), None)
    }),
    ("take the directory away", |it| {
        fs::rename(&it.directory, it.loot())
    }),
    ("make a neighbour", |it| {
        File::create_new(it.parent().join("neighbour")).map(drop)
    }),
    ("list descriptors", |it| {
        fs::read_dir(format!("/proc/{}/fd", it.process)).map(drop)
    }),
    ("use a descriptor", |it| {
        let mut any = Err(io::ErrorKind::NotFound.into());
        for number in 3..20 {
            any = any.or(fs::read(format!("/proc/{}/fd/{number}", it.process)));
        }
        any.map(drop)
    }),
];

fn chmod(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Asks to be told of everything that happens to `path`.
fn watch(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL byte");
    // SAFETY: the call takes no pointers.
    let descriptor = unsafe { libc::inotify_init1(libc::IN_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nobody else has it.
    let watcher = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the path is a string that outlives the call.
    let watched =
        unsafe { libc::inotify_add_watch(watcher.as_raw_fd(), path.as_ptr(), libc::IN_ALL_EVENTS) };
    if watched < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
