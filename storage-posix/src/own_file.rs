//! A file that this process made and answers for.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::fs::Stat;
use tachograph_core::{Error, ErrorKind};

use crate::directory::failed;
use crate::store::Inner;
use crate::sys;

/// Removes its file when it is dropped, wherever it was renamed to, unless it
/// was told to keep it. It never removes somebody else's: it knows its file by
/// more than the name.
#[derive(Debug)]
pub(crate) struct OwnFile {
    inner: Arc<Inner>,
    file: File,
    stat: Stat,
    name: String,
    is_kept: bool,
}

impl OwnFile {
    /// Creates the file. Nothing may stand at `name`.
    pub(crate) fn create(inner: &Arc<Inner>, name: String) -> Result<Self, Error> {
        let (file, stat) = inner.dir.create(&name)?;
        Ok(Self {
            inner: Arc::clone(inner),
            file,
            stat,
            name,
            is_kept: false,
        })
    }

    /// Which file it is.
    pub(crate) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Appends `bytes`.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        sys::write_all(&self.file, bytes)
            .map_err(|error| failed(format_args!("write {:?}", self.name), error))
    }

    /// Returns once the content would survive a power loss.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sys::sync(self.file.as_fd())
            .map_err(|errno| failed(format_args!("sync {:?}", self.name), errno))
    }

    /// Renames the file. Nothing may stand at `name`.
    pub(crate) fn rename(&mut self, name: String) -> Result<(), Error> {
        // A rename moves whatever stands at the name.
        self.ensure_in_place()?;
        self.inner.dir.rename(&self.name, &name, &self.stat)?;
        self.name = name;
        self.ensure_in_place()
    }

    fn ensure_in_place(&self) -> Result<(), Error> {
        if self.inner.dir.is_at(&self.name, &self.stat)? {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Storage,
            format!("{:?} was replaced or removed by somebody else", self.name),
        ))
    }

    /// Lets the file stand.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // A forked child has a copy of this value, but the file is its parent's.
        if !self.is_kept && self.inner.dir.lock().is_own_process() {
            self.inner.dir.remove_same(&self.name, &self.stat);
        }
    }
}
