//! Ends the process at a chosen moment.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::AtFlags;
use tachograph::store::{CaptureName, EntryKind};
use tachograph_storage_posix::seam::{Call, Hook, Operation};

/// Which moments count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    #[default]
    All,
    /// Those until the directory is locked.
    Opening,
    /// Those from the creation of the first profile to that of the second.
    FirstCapture,
    /// Of those, the ones from the first byte that is written.
    FirstPublishing,
}

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// Nothing.
    #[default]
    None,
    /// The profile gets its name before the sidecar does.
    ProfileFirst,
    /// A foreign file is removed too.
    RemoveForeign,
    /// What is to be removed stays.
    ForgetRemoval,
    /// What is to be emptied is not.
    ForgetEmptying,
}

impl Scope {
    pub(crate) const ALL: [Self; 4] = [
        Self::All,
        Self::Opening,
        Self::FirstCapture,
        Self::FirstPublishing,
    ];
}

impl Sabotage {
    pub(crate) const ALL: [Self; 5] = [
        Self::None,
        Self::ProfileFirst,
        Self::RemoveForeign,
        Self::ForgetRemoval,
        Self::ForgetEmptying,
    ];
}

/// A hook that kills its process with SIGKILL, before or after a call.
#[derive(Debug, Default)]
pub(crate) struct Killer {
    /// At which moment, counted from 0: two for each call.
    pub(crate) at: Option<usize>,
    pub(crate) scope: Scope,
    pub(crate) sabotage: Sabotage,
    moments: AtomicUsize,
    is_locked: AtomicBool,
    is_writing: AtomicBool,
    creations: AtomicUsize,
}

impl Killer {
    pub(crate) fn new(at: Option<usize>, scope: Scope, sabotage: Sabotage) -> Self {
        Self {
            at,
            scope,
            sabotage,
            ..Self::default()
        }
    }

    fn moment(&self, operation: Operation) {
        if operation == Operation::Write {
            self.is_writing.store(true, Ordering::SeqCst);
        }
        let creations = self.creations.load(Ordering::SeqCst);
        let counts = match self.scope {
            Scope::All => true,
            Scope::Opening => !self.is_locked.load(Ordering::SeqCst),
            // A profile and a sidecar are created for each capture.
            Scope::FirstCapture => (1..=2).contains(&creations),
            Scope::FirstPublishing => self.is_writing.load(Ordering::SeqCst) && creations <= 2,
        };
        if counts && Some(self.moments.fetch_add(1, Ordering::SeqCst)) == self.at {
            // SAFETY: it ends this process, and nothing runs after it.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            loop {
                std::thread::park();
            }
        }
    }
}

impl Hook for Killer {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        if call.operation == Operation::Create {
            self.creations.fetch_add(1, Ordering::SeqCst);
        }
        self.moment(call.operation);
        let parse = |name: Option<&Path>| CaptureName::parse(name?.to_str()?);
        match (self.sabotage, call.operation) {
            (Sabotage::ProfileFirst, Operation::Rename) => match parse(call.new_name) {
                Some((capture, EntryKind::Sidecar)) => {
                    let partial = capture.entry(EntryKind::PartialProfile);
                    let (at, profile) = (call.descriptor, capture.profile());
                    rustix::fs::linkat(at, &*partial, at, &*profile, AtFlags::empty())?;
                    self.moment(call.operation);
                }
                Some((capture, EntryKind::Profile)) => {
                    let profile = capture.profile();
                    rustix::fs::unlinkat(call.descriptor, &*profile, AtFlags::empty())?;
                }
                _ => {}
            },
            (Sabotage::RemoveForeign, Operation::Create) => {
                let _ = rustix::fs::unlinkat(call.descriptor, "notes.txt", AtFlags::empty());
            }
            (Sabotage::ForgetRemoval, Operation::Remove) => {
                return Err(io::Error::from_raw_os_error(libc::ENOENT));
            }
            _ => {}
        }
        Ok(())
    }

    fn after(&self, call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        if (self.sabotage, call.operation) == (Sabotage::ForgetEmptying, Operation::Truncate) {
            rustix::io::write(call.descriptor, b"not empty")?;
        }
        self.moment(call.operation);
        if call.operation == Operation::Lock && outcome.is_ok() {
            self.is_locked.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}
