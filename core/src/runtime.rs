//! What an async runtime brings to a recorder.

use std::fmt;
use std::sync::Arc;

use crate::{Clock, Driver, Error, Offload, SnapshotSource};

/// An async runtime that a recorder can run on: what the backends implement.
///
/// # Contract
///
/// Making the value and asking for its [`clock`](Self::clock) work anywhere;
/// whether the runtime is really there is found out by
/// [`connect`](Self::connect), which may start threads that the runtime keeps.
pub trait Runtime {
    /// The runtime's own clock.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Finds the runtime that this code runs on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoRuntime`](crate::ErrorKind::NoRuntime) if it is not
    /// there, or lacks what a recorder needs.
    fn connect(&self) -> Result<Connection, Error>;
}

/// A runtime that is there.
pub struct Connection {
    /// Its place for blocking work.
    pub offload: Arc<dyn Offload>,
    /// What it knows of itself, if it can tell.
    pub snapshot_source: Option<Arc<dyn SnapshotSource>>,
    /// Runs a driver as a task of its own.
    pub spawn: Box<dyn FnOnce(Driver) + Send>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}
