//! What a recorder says of itself.

use std::fmt;
use std::time::SystemTime;

use crate::{Exhausted, Reason, Requests};

/// What a recorder is doing and has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it is doing.
    pub state: State,
    /// How many captures it has saved.
    pub captures: u64,
    /// How many requests led to no capture, by cause.
    pub dropped: Requests,
}

/// What a recorder is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Nothing, and it never will: it is inert.
    Off,
    /// Waiting for the next capture or a request.
    Waiting {
        /// Until when at the latest, by the wall clock as it was when the wait
        /// began: the next periodic capture, or the deadline.
        until: SystemTime,
    },
    /// Taking a capture.
    Capturing {
        /// Why.
        reason: Reason,
    },
    /// Over.
    Ended(End),
}

/// Why recording is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The window closed.
    Deadline,
    /// It was asked to stop, or the last handle was dropped.
    Stopped,
    /// A budget left no room for a further capture.
    Budget(Exhausted),
    /// Earlier runs died during captures, so often that recording may be why.
    Interrupted {
        /// The unfinished profiles that say so.
        leftovers: Vec<String>,
    },
    /// Something went wrong.
    Failed {
        /// What, with its causes, in one line.
        why: String,
    },
    /// The driver was dropped before recording was over, for instance because
    /// its runtime shut down.
    Abandoned,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline => f.write_str("the deadline has passed"),
            Self::Stopped => f.write_str("stopped"),
            Self::Budget(exhausted) => write!(f, "budget exhausted: {exhausted}"),
            Self::Interrupted { leftovers } => write!(
                f,
                "the process died during {} captures in a row, so recording may be why: \
                 remove {} to record again",
                leftovers.len(),
                leftovers.join(", ")
            ),
            Self::Failed { why } => write!(f, "failed: {why}"),
            Self::Abandoned => f.write_str("the recorder's driver was dropped"),
        }
    }
}
