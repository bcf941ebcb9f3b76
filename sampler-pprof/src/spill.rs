//! The file that the `pprof` crate spills to.
//!
//! The crate makes a named temporary file when its profiler is first used, and
//! a new one at every stop (dropping the one before). It never says where. So
//! the files that could be it are those that appear while it makes one. It
//! stays open, others come and go: when just one of them is left, it is that
//! one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use tachograph_core::{Error, ErrorKind};

/// A capture that spills more than this fails.
pub(crate) const SPILL_BYTES_MAX: u64 = 8 << 20;

/// The temporary files that this process may have made.
pub(crate) struct Candidates(BTreeSet<PathBuf>);

impl Candidates {
    /// Those that are there now.
    pub(crate) fn now() -> Self {
        let directory = tempfile::env::temp_dir();
        let directory = directory.canonicalize().unwrap_or(directory);
        // What cannot be listed has no candidates: then no file is deleted.
        Self(temporary_files(&directory).unwrap_or_default())
    }

    /// Those that have come since.
    pub(crate) fn new_since(&self) -> Spill {
        Spill {
            files: Self::now().0.difference(&self.0).cloned().collect(),
        }
    }
}

/// Open files of this process: nobody else's can be meant.
#[cfg(target_os = "linux")]
fn temporary_files(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let open = fs::read_dir("/proc/self/fd")?;
    Ok(open
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter(|path| path.parent() == Some(directory) && is_temporary_name(path))
        .collect())
}

#[cfg(not(target_os = "linux"))]
fn temporary_files(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    Ok(fs::read_dir(directory)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_temporary_name(path))
        .collect())
}

/// `.tmp` and six letters or digits, as the `tempfile` crate names its files.
fn is_temporary_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_prefix(".tmp"))
        .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The file that is spilled to, or, if others appeared at the same time, those
/// among which it is.
#[derive(Debug)]
pub(crate) struct Spill {
    files: Vec<PathBuf>,
}

impl Spill {
    /// Waits, but not for long, for those to go that are not it.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10 {
            if self.files.len() < 2 {
                break;
            }
            thread::sleep(Duration::from_millis(2));
            let left = Candidates::now();
            self.files.retain(|file| left.0.contains(file));
        }
    }

    /// The file itself, if there is no doubt.
    pub(crate) fn known(&self) -> Option<&Path> {
        match &self.files[..] {
            [file] => Some(file),
            _ => None,
        }
    }

    /// # Errors
    ///
    /// If the file is too large. Where it is not known for sure, none of those
    /// that it may be must be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for file in &self.files {
            // One that is gone is not the one that is held open.
            let size = fs::symlink_metadata(file).map_or(0, |file| file.len());
            if size > SPILL_BYTES_MAX {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "the pprof crate has spilled {size} bytes to {}, over the limit of \
                         {SPILL_BYTES_MAX}: this process has too many different stacks",
                        file.display()
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The least limit on the size of files: a capture is looked at once a second,
/// and may spill for so long after it has gone past its own.
const LIMIT_OF_FILES_MIN: u64 = 2 * SPILL_BYTES_MAX;

/// Whether the crate will be able to make its file, and to write to it.
///
/// # Errors
///
/// If the temporary directory cannot be written to, or if the process may not
/// write files that are large enough. The crate spills in its signal handler,
/// and a write past that limit brings a signal that ends the process.
pub(crate) fn check_directory() -> Result<(), Error> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if let Some(limit) = limit.filter(|&limit| limit < LIMIT_OF_FILES_MIN) {
        return Err(Error::new(
            ErrorKind::Sampling,
            format!(
                "the pprof crate writes a temporary file, and this process's RLIMIT_FSIZE of \
                 {limit} bytes could end the process: raise it to {LIMIT_OF_FILES_MIN} or more"
            ),
        ));
    }
    tempfile::NamedTempFile::new().map(drop).map_err(|error| {
        Error::new(
            ErrorKind::Sampling,
            format!(
                "the pprof crate needs to write into the temporary directory {}: set TMPDIR to \
                 one that allows it",
                tempfile::env::temp_dir().display()
            ),
        )
        .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_that_form_are_candidates() {
        for (name, fits) in [
            (".tmpAbC123", true),
            (".tmpAbC12", false),
            (".tmpAbC1234", false),
            ("tmpAbC123", false),
            (".tmpAb-123", false),
            (".tmpAbC123 (deleted)", false),
        ] {
            assert_eq!(
                is_temporary_name(&Path::new("/tmp").join(name)),
                fits,
                "{name}"
            );
        }
    }

    #[test]
    fn a_file_is_known_when_it_alone_appeared() {
        let spill = |files: &[&str]| Spill {
            files: files.iter().map(PathBuf::from).collect(),
        };
        assert_eq!(spill(&[]).known(), None);
        assert_eq!(spill(&["/a"]).known(), Some(Path::new("/a")));
        assert_eq!(spill(&["/a", "/b"]).known(), None);
    }

    #[test]
    fn a_spill_over_the_limit_is_an_error() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let spill = Spill {
            files: vec![file.path().to_owned(), "/nonexistent".into()],
        };
        file.as_file().set_len(SPILL_BYTES_MAX).expect("sparse");
        spill.check().expect("at the limit");
        file.as_file().set_len(SPILL_BYTES_MAX + 1).expect("sparse");
        let error = spill.check().expect_err("over the limit");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}
