//! Where captures are kept.

mod entry;
mod recovery;

use std::sync::Arc;
use std::time::SystemTime;

pub use entry::{CaptureName, EntryKind};
pub use recovery::{INTERRUPTED_MAX, RecoveryPlan};

use crate::Error;

/// Keeps captures: pairs of a profile and its sidecar. It knows entries and
/// bytes, not profiles, schedules or budgets.
///
/// # Contract
///
/// All methods, and those of a staged capture, may block: the recorder calls
/// them through [`Offload`](crate::Offload) only, one at a time.
///
/// An implementation promises:
/// - *Exclusive.* It is open for one recorder at a time, from its construction
///   to [`close`](Self::close), or to the drop of the store and of everything
///   staged in it. After that its methods fail.
/// - *Create-only.* Nothing that stands in the store is ever replaced, and
///   nothing is removed but what [`recover`](Self::recover) and a staged
///   capture say.
/// - *Atomic.* A capture is seen whole or not at all. Should the two parts not
///   appear at once, the sidecar comes first.
/// - *Durable.* What [`StagedCapture::publish`] reported survives a power loss.
/// - *Bounded.* Looking at a store takes memory for the entries that are named
///   like those of captures, and for no others.
pub trait Store: Send + Sync {
    /// Puts away what a crashed recorder left (see [`RecoveryPlan`]) and says
    /// what it found. Called once, before anything else.
    ///
    /// # Errors
    ///
    /// An error ends recording.
    fn recover(&self) -> Result<Recovery, Error>;

    /// Counts what stands in the store. It may stop counting once there are
    /// more than `entries_enough` entries.
    ///
    /// # Errors
    ///
    /// An error fails the capture it was asked for.
    fn usage(&self, entries_enough: u64) -> Result<Usage, Error>;

    /// Reserves `name`: makes its unfinished profile, so that a crash from now
    /// on is seen by the next [`recover`](Self::recover).
    ///
    /// # Errors
    ///
    /// An error fails the capture, and nothing of it is left.
    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error>;

    /// Lets go of the store in so many words. Nothing is called afterwards.
    fn close(&self);
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn recover(&self) -> Result<Recovery, Error> {
        (**self).recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        (**self).usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        (**self).stage(name)
    }

    fn close(&self) {
        (**self).close();
    }
}

/// A capture on its way into a [`Store`]. Dropping it removes every trace.
pub trait StagedCapture: Send {
    /// Makes the capture stand in the store, then removes the unfinished
    /// profiles that [`Store::recover`] found. One that cannot be removed does
    /// not fail the capture; it is tried again after the next.
    ///
    /// # Errors
    ///
    /// If a name is taken or anything else goes wrong. Neither part of this
    /// capture is left then; what cannot be taken back for sure is a sidecar
    /// without its profile, never the reverse, and the next
    /// [`recover`](Store::recover) removes it.
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error>;
}

/// What stands in a [`Store`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many entries there are, of whatever kind and origin.
    pub entries: u64,
    /// How many bytes the regular files have together.
    pub bytes: u64,
    /// How many bytes could still be written, if the store can tell.
    pub bytes_free: Option<u64>,
}

/// What an earlier recorder left in a [`Store`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The start of the newest capture or unfinished capture, by its name.
    pub newest: Option<SystemTime>,
    /// The unfinished profiles that stand there, sorted: one for every time
    /// that the process died during a capture since the last complete one.
    pub interrupted: Vec<String>,
}
