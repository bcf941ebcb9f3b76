//! What a recorder is to do, once it is worked out.

/// What a recorder is to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) attempts: Vec<ExpectedAttempt>,
    /// When it is over and why, unless it is killed or dropped before.
    pub(crate) over: Option<(u64, Why)>,
    pub(crate) dropped: Dropped,
    pub(crate) captures: u64,
}

/// One capture that it is to try.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedAttempt {
    pub(crate) reason: String,
    /// When the budget is looked at.
    pub(crate) looked_ms: u64,
    /// The start in its name, by the wall clock.
    pub(crate) named_ms: i64,
    pub(crate) staged_ms: Option<u64>,
    pub(crate) sampler_asked_ms: Option<u64>,
    pub(crate) sampling_until_ms: Option<u64>,
    pub(crate) saved_ms: Option<u64>,
    pub(crate) skipped: bool,
    /// What its sidecar is to tell.
    pub(crate) told: Dropped,
    pub(crate) finished_wall_ms: i64,
}

/// Requests that lead to no capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) cooldown: u64,
    pub(crate) busy: u64,
    pub(crate) pending: u64,
}

impl Dropped {
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            cooldown: self.cooldown - earlier.cooldown,
            busy: self.busy - earlier.busy,
            pending: self.pending - earlier.pending,
        }
    }
}

/// Why a recorder is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Deadline,
    Stopped,
    Budget,
    Interrupted,
    Failed,
}
