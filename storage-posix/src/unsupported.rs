//! What stands in for the store where there is no POSIX file system.

use std::convert::Infallible;
use std::path::Path;

use tachograph_core::store::{CaptureName, Recovery, StagedCapture, Usage};
use tachograph_core::{Error, ErrorKind, Store};

/// A store that cannot be opened: this platform has no POSIX file system.
#[derive(Debug)]
pub struct PosixStore {
    never: Infallible,
}

impl PosixStore {
    /// Opens nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`], always.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("directory {path:?} cannot be used: this platform has no POSIX file system"),
        ))
    }
}

impl Store for PosixStore {
    fn recover(&self) -> Result<Recovery, Error> {
        match self.never {}
    }

    fn usage(&self, _entries_enough: u64) -> Result<Usage, Error> {
        match self.never {}
    }

    fn stage(&self, _name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        match self.never {}
    }

    fn close(&self) {
        match self.never {}
    }
}
