//! Files that are written: whole or not at all, and never among what was recorded.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tachograph_core::store::CaptureName;
use tempfile::NamedTempFile;

use crate::args::Saving;
use crate::error::{Error, Result};
use crate::output::Output;

/// Where a command writes to, found fit before it begins to work.
pub(crate) enum Target {
    Stdout,
    /// A device or a pipe, which is written to as it is.
    Stream(PathBuf),
    File {
        path: PathBuf,
        force: bool,
    },
}

impl Target {
    /// `-o FILE`; without it standard output, unless that is a terminal.
    ///
    /// # Errors
    ///
    /// If the file must not be written.
    pub(crate) fn of(saving: &Saving, output: &Output) -> Result<Self> {
        match &saving.path {
            None if output.is_terminal() => Err(Error::Misuse(
                "this is not for a terminal: name a file with -o, or `-o -` to have it anyway"
                    .to_owned(),
            )),
            None => Ok(Self::Stdout),
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdout),
            Some(path) => {
                let is_stream = judge(path, saving.force).map_err(Error::Misuse)?;
                Ok(match is_stream {
                    true => Self::Stream(path.clone()),
                    false => Self::File {
                        path: path.clone(),
                        force: saving.force,
                    },
                })
            }
        }
    }

    /// Writes what `write` writes.
    pub(crate) fn save(
        &self,
        output: &mut Output,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result {
        let (path, saved) = match self {
            Self::Stdout => return to_stdout(output, write),
            Self::Stream(path) => {
                let file = File::options().write(true).open(path);
                (path, file.and_then(|mut file| buffered(&mut file, write)))
            }
            Self::File { path, force } => (path, replace(path, *force, write)),
        };
        saved.map_err(|error| Error::Finding(format!("{}: {error}", path.display())))
    }
}

/// Puts a file there that is whole from the beginning.
fn replace(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory_of(path))?;
    buffered(file.as_file_mut(), write)?;
    match force {
        true => file.persist(path)?,
        false => file.persist_noclobber(path)?,
    };
    Ok(())
}

fn buffered(
    file: &mut File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = io::BufWriter::new(file);
    write(&mut file)?;
    file.flush()
}

/// Writes what is not for people: as it is, past what takes colours out.
fn to_stdout(output: &mut Output, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result {
    output.finish()?;
    let mut watched = Watched {
        out: io::stdout().lock(),
        failure: None,
    };
    let written = write(&mut watched).and_then(|()| watched.flush());
    // What writes may wrap an error, and a closed pipe must be known as one.
    match watched.failure {
        Some(kind) => Err(Error::Output(kind.into())),
        None => Ok(written?),
    }
}

/// Remembers why the first write failed.
struct Watched<W> {
    out: W,
    failure: Option<io::ErrorKind>,
}

impl<W: Write> Watched<W> {
    fn watch<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &outcome
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failure.get_or_insert(error.kind());
        }
        outcome
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watch(flushed)
    }
}

/// Whether there is something that is written to as it is.
fn judge(path: &Path, force: bool) -> std::result::Result<bool, String> {
    let directory = directory_of(path);
    if let Some(why) =
        is_recorded(directory).map_err(|it| format!("{}: {it}", directory.display()))?
    {
        return Err(format!(
            "{}: nothing is written into a recorded directory ({why}); name a file elsewhere",
            path.display()
        ));
    }
    // A link to a device is one, and a link to a file is replaced by a file.
    let metadata = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
    match metadata {
        Ok(metadata) if metadata.is_dir() => Err(format!(
            "{}: this is a directory; name a file in it",
            path.display()
        )),
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => Ok(true),
        Ok(_) if !force => Err(format!(
            "{}: the file exists; --force replaces it",
            path.display()
        )),
        _ => Ok(false),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Why a directory is taken for one that a recorder writes to, if it is.
fn is_recorded(directory: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().filter(|it| CaptureName::parse(it).is_some()) {
            return Ok(Some(format!("{name} is in it")));
        }
    }
    Ok(is_locked(directory).then(|| "a recorder has locked it".to_owned()))
}

/// Whether a recorder has locked the directory at this moment.
pub(crate) fn is_locked(directory: &Path) -> bool {
    // Shared, and let go at once: recorders take it alone, and readers do not keep each
    // other out.
    File::open(directory)
        .is_ok_and(|it| matches!(it.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}
