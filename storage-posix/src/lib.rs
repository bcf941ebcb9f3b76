//! The private directory of Tachograph, an opt-in CPU flight recorder: a
//! [`Store`](tachograph_core::Store) of captures on a POSIX file system.
//!
//! [`PosixStore::open`] opens the directory once, judges the *opened
//! descriptor*, and locks it. From then on every operation is relative to that
//! descriptor: whatever happens to the path, no write can be redirected.
//!
//! What this crate never does: replace a file, follow a symlink in the
//! directory, change the mode of a directory it did not make, or remove
//! anything but its own unfinished files, the pair of a failed capture, and
//! the leftovers of a crash that
//! [`RecoveryPlan`](tachograph_core::store::RecoveryPlan) names.
//!
//! All of it may block. The recorder calls it where that is allowed.

#![forbid(unsafe_code)]

#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod open;
#[cfg(unix)]
mod own_file;
#[cfg(unix)]
mod path;
#[cfg(all(unix, feature = "testing"))]
#[doc(hidden)]
pub mod seam;
#[cfg(all(unix, not(feature = "testing")))]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "all of it is of use to a test only"
)]
mod seam;
#[cfg(unix)]
mod staged;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod sys;

#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
pub use store::PosixStore;
#[cfg(not(unix))]
pub use unsupported::PosixStore;
