//! From a path to a descriptor that was judged.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Component, Path};
use std::rc::Rc;

use rustix::fs::{CWD, FileType, Mode, Stat};
use rustix::io::Errno;
use tachograph_core::{Error, ErrorKind};

use crate::{path, sys};

/// Opens the directory at `path`, or makes it, and judges what was opened.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let path = path::judge(path)?;
    let directory = match sys::open_directory(CWD, path) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => create(path)?,
        Err(errno) => return Err(cannot_open(path, errno)),
    };
    judge_opened(path, &directory)?;
    Ok(directory)
}

/// Makes the directory at `path` and what is missing above it.
fn create(path: &Path) -> Result<File, Error> {
    let (existing, missing) = deepest_existing(path)?;
    let mut made = Made(Vec::new());
    let mut directory = Rc::new(existing);
    let mut missing = missing.components().peekable();
    while let Some(component) = missing.next() {
        let is_last = missing.peek().is_none();
        directory = Rc::new(enter(path, &directory, component, is_last, &mut made)?);
    }
    made.0.clear();
    Rc::into_inner(directory).ok_or_else(|| cannot_create(path, path, Errno::NOENT))
}

/// The directories that were made on the way to one that could not be, each
/// with its parent. Dropped, they are removed again, the deepest first, as far
/// as nobody has put anything into them.
struct Made<'a>(Vec<(Rc<File>, &'a Path)>);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for (parent, name) in self.0.iter().rev() {
            // The caller is failing already, and has nothing better to tell.
            let _ = sys::remove_directory(parent.as_fd(), name);
        }
    }
}

/// The deepest directory on the way to `path` that exists, opened, and what of
/// `path` is left from there.
fn deepest_existing(path: &Path) -> Result<(File, &Path), Error> {
    for ancestor in path.ancestors().skip(1) {
        match sys::open_directory_followed(CWD, ancestor) {
            Ok(directory) => {
                let missing = path.strip_prefix(ancestor).unwrap_or(path);
                return Ok((directory, missing));
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(cannot_create(path, ancestor, errno)),
        }
    }
    Err(cannot_create(path, path, Errno::NOENT))
}

/// Makes one directory on the way to `path`, unless somebody else just has,
/// and opens it.
fn enter<'a>(
    path: &'a Path,
    parent: &Rc<File>,
    name: Component<'a>,
    is_last: bool,
    all_made: &mut Made<'a>,
) -> Result<File, Error> {
    let name = Path::new(name.as_os_str());
    let failed = |errno| cannot_create(path, name, errno);
    let at = parent.as_fd();
    match sys::make_directory(at, name) {
        Ok(()) => {
            all_made.0.push((Rc::clone(parent), name));
            restore_mode(parent, name).map_err(failed)?;
            let made = sys::open_directory(at, name).map_err(failed)?;
            judge_opened(path, &made)?;
            // The entry of a durable capture's directory must be durable too.
            sys::sync(at).map_err(failed)?;
            Ok(made)
        }
        // Whatever it is, it is judged like one that stood there all along.
        Err(Errno::EXIST) if is_last => {
            sys::open_directory(at, name).map_err(|errno| cannot_open(path, errno))
        }
        Err(Errno::EXIST) => sys::open_directory_followed(at, name).map_err(failed),
        Err(errno) => Err(failed(errno)),
    }
}

/// Gives a directory that was just made what the umask took from it.
///
/// This comes before the directory is opened: without its permissions its owner
/// cannot open it. So nothing is touched but what looks like a private directory
/// of this user from which something was taken, and nothing through a symlink.
/// What is opened next is judged, whatever this did.
fn restore_mode(parent: &File, name: &Path) -> rustix::io::Result<()> {
    sys::set_directory_mode_if(parent.as_fd(), name, |made| {
        let found = permissions(made);
        FileType::from_raw_mode(made.st_mode).is_dir()
            && sys::is_owned(made)
            && found != sys::DIRECTORY_MODE
            && sys::DIRECTORY_MODE.contains(found)
    })
}

fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO)
}

fn judge_opened(path: &Path, directory: &File) -> Result<(), Error> {
    let stat = sys::stat(directory.as_fd()).map_err(|errno| cannot_open(path, errno))?;
    judge(path, &stat)
}

/// Whether this can be the private directory.
fn judge(path: &Path, stat: &Stat) -> Result<(), Error> {
    let refused = |what: String| Err(Error::new(ErrorKind::Directory, what));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {}
        FileType::Symlink => {
            return refused(format!(
                "directory {path:?} is a symlink: it must be the directory itself (symlinks above \
                 it are followed)"
            ));
        }
        other => {
            return refused(format!(
                "directory {path:?} is not a directory but {}: it must be a directory, or not \
                 exist yet",
                describe(other)
            ));
        }
    }
    if !sys::is_owned(stat) {
        return refused(format!(
            "directory {path:?} belongs to user {}: it must belong to user {}, as whom this \
             process runs",
            stat.st_uid,
            sys::effective_user().as_raw()
        ));
    }
    if permissions(stat).intersects(Mode::RWXG | Mode::RWXO) {
        return refused(format!(
            "directory {path:?} has mode {:04o}: it must have no permission for group or others, \
             such as 0700",
            Mode::from_raw_mode(stat.st_mode).bits()
        ));
    }
    Ok(())
}

fn describe(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "a regular file",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

/// Why something that exists could not be opened as the private directory. It
/// is looked at by name, which decides nothing but the wording.
fn cannot_open(path: &Path, errno: Errno) -> Error {
    if let Ok(stat) = sys::stat_entry(CWD, path)
        && let Err(refusal) = judge(path, &stat)
    {
        return refusal;
    }
    Error::new(
        ErrorKind::Directory,
        format!("directory {path:?} cannot be opened: set one that this process can reach"),
    )
    .with_source(io::Error::from(errno))
}

fn cannot_create(path: &Path, part: &Path, errno: Errno) -> Error {
    Error::new(
        ErrorKind::Directory,
        format!(
            "directory {path:?} does not exist and cannot be created, because of {part:?} in it: \
             create it with mode 0700, or set another"
        ),
    )
    .with_source(io::Error::from(errno))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn no_mode_is_restored_but_that_of_a_curtailed_private_directory() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let parent = File::open(temporary.path()).expect("it exists");
        let at = temporary.path().join("it");
        let set_mode = |mode| {
            fs::set_permissions(&at, fs::Permissions::from_mode(mode)).expect("set the mode");
        };
        let restored = || {
            restore_mode(&parent, Path::new("it")).expect("it exists");
            fs::metadata(&at).expect("it exists").permissions().mode() & 0o7777
        };

        fs::create_dir(&at).expect("create");
        for (before, after) in [
            (0o000, 0o700),
            (0o100, 0o700),
            (0o500, 0o700),
            (0o700, 0o700),
            (0o755, 0o755),
            (0o070, 0o070),
        ] {
            set_mode(before);
            assert_eq!(restored(), after, "{before:o}");
        }

        fs::rename(&at, temporary.path().join("elsewhere")).expect("rename");
        symlink("elsewhere", &at).expect("symlink");
        set_mode(0o500);
        assert_eq!(restored(), 0o500);

        fs::remove_file(&at).expect("remove");
        fs::write(&at, "").expect("write");
        set_mode(0o400);
        assert_eq!(restored(), 0o400);
    }

    #[test]
    fn what_takes_the_place_of_a_directory_before_its_mode_is_set_keeps_its_own() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let parent = File::open(temporary.path()).expect("it exists");
        let [made, moved, victim] = ["made", "moved", "victim"].map(|it| temporary.path().join(it));
        let mode = |at: &Path| fs::metadata(at).expect("it exists").permissions().mode() & 0o7777;
        for directory in [&made, &victim] {
            fs::create_dir(directory).expect("create");
            fs::set_permissions(directory, fs::Permissions::from_mode(0o500)).expect("set");
        }
        sys::set_directory_mode_if(parent.as_fd(), Path::new("made"), |_| {
            fs::rename(&made, &moved).expect("rename");
            symlink(&victim, &made).expect("symlink");
            true
        })
        .expect("it exists");
        assert_eq!(mode(&victim), 0o500);
        if cfg!(target_os = "linux") {
            assert_eq!(mode(&moved), 0o700);
        }
    }
}
