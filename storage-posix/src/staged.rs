//! A capture on its way into the directory.

use std::sync::Arc;

use tachograph_core::Error;
use tachograph_core::store::{CaptureName, EntryKind, StagedCapture};

use crate::directory::PrivateDir;
use crate::own_file::OwnFile;
use crate::store::Inner;

/// A reserved name, and its unfinished profile.
pub(crate) struct StagedFile {
    inner: Arc<Inner>,
    name: CaptureName,
    profile: OwnFile,
}

impl StagedFile {
    pub(crate) fn create(inner: &Arc<Inner>, name: CaptureName) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::clone(inner),
            name,
            profile: OwnFile::create(inner, name.entry(EntryKind::PartialProfile))?,
        })
    }
}

impl StagedCapture for StagedFile {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        inner.dir.lock().ensure_held()?;
        let mut pair = Pair {
            name: self.name,
            sidecar: OwnFile::create(&inner, self.name.entry(EntryKind::PartialSidecar))?,
            profile: self.profile,
            may_be_seen: false,
        };
        if let Err(error) = pair.publish(&inner.dir, sidecar, profile) {
            pair.withdraw(&inner.dir);
            return Err(error);
        }
        pair.profile.keep();
        pair.sidecar.keep();
        inner.remove_interrupted();
        Ok(())
    }
}

/// Both files of a capture.
struct Pair {
    name: CaptureName,
    profile: OwnFile,
    sidecar: OwnFile,
    /// Whether the profile may have its final name.
    may_be_seen: bool,
}

impl Pair {
    fn publish(&mut self, dir: &PrivateDir, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        self.sidecar.write(sidecar)?;
        self.profile.write(profile)?;
        self.sidecar.sync()?;
        self.profile.sync()?;
        self.sidecar.rename(self.name.sidecar())?;
        dir.sync()?;
        self.may_be_seen = true;
        self.profile.rename(self.name.profile())?;
        dir.sync()
    }

    /// Takes both files back. A profile never stands there unexplained, after a
    /// power loss either: so its sidecar outlives it, and is left for the next
    /// recovery should it not be certain that the profile is gone.
    fn withdraw(self, dir: &PrivateDir) {
        let stat = *self.profile.stat();
        drop(self.profile);
        let is_unseen =
            || matches!(dir.is_at(&self.name.profile(), &stat), Ok(false)) && dir.sync().is_ok();
        if self.may_be_seen && !is_unseen() {
            self.sidecar.keep();
            return;
        }
        drop(self.sidecar);
        // It may have been made durable under its final name. If this fails,
        // the next recovery removes it.
        let _ = dir.sync();
    }
}
