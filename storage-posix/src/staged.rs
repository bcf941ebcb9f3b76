//! A capture on its way into the directory.

use std::sync::Arc;

use tachograph_core::Error;
use tachograph_core::store::{CaptureName, EntryKind, StagedCapture};

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
            sidecar: OwnFile::create(&inner, self.name.entry(EntryKind::PartialSidecar))?,
            profile: self.profile,
        };
        if let Err(error) = pair.publish(&inner, self.name, sidecar, profile) {
            drop(pair);
            // A sidecar may have been made durable under its final name. If
            // this fails too, the next recovery removes it.
            let _ = inner.dir.sync();
            return Err(error);
        }
        pair.profile.keep();
        pair.sidecar.keep();
        inner.remove_interrupted();
        Ok(())
    }
}

/// Both files of a capture, in the order in which they are removed should it
/// fail: a profile never stands there unexplained.
struct Pair {
    profile: OwnFile,
    sidecar: OwnFile,
}

impl Pair {
    fn publish(
        &mut self,
        inner: &Inner,
        name: CaptureName,
        sidecar: &[u8],
        profile: &[u8],
    ) -> Result<(), Error> {
        self.sidecar.write(sidecar)?;
        self.profile.write(profile)?;
        self.sidecar.sync()?;
        self.profile.sync()?;
        self.sidecar.rename(name.sidecar())?;
        inner.dir.sync()?;
        self.profile.rename(name.profile())?;
        inner.dir.sync()
    }
}
