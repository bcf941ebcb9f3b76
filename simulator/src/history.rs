//! What happens to a service and its recorder, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tachograph_core::{Error, ErrorKind, Limits, Policy, testing};

/// Everything that happens in one simulation: nothing else does, so that the
/// same history always comes out the same, and one that is shorter is made by
/// leaving events out.
///
/// All times are whole milliseconds. `at_ms` counts on the monotonic clock from
/// the beginning; wall times count from 2026-11-30T00:00:00Z, which is what the
/// wall clock shows at the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// When the last recorder that still runs is stopped.
    pub length_ms: u64,
    /// The rhythm of every recorder.
    pub rhythm: Rhythm,
    /// The limits of every recorder.
    pub bounds: Bounds,
    /// What happens, in its order.
    pub events: Vec<Event>,
}

/// The times of a [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rhythm {
    /// How long a capture samples.
    pub capture_ms: u64,
    /// From start to start.
    pub cooldown_ms: u64,
    /// Of periodic captures.
    pub interval_ms: u64,
}

impl Rhythm {
    /// The policy.
    ///
    /// # Errors
    ///
    /// As [`tachograph_core::PolicyBuilder::build`].
    pub fn policy(self) -> Result<Policy, Error> {
        Policy::builder()
            .capture_length(Duration::from_millis(self.capture_ms))
            .cooldown(Duration::from_millis(self.cooldown_ms))
            .interval(Duration::from_millis(self.interval_ms))
            .build()
    }
}

/// The values of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Entries in the directory.
    pub entries_max: u64,
    /// Bytes in the directory.
    pub bytes_max: u64,
    /// Bytes of one profile.
    pub profile_bytes_max: u64,
    /// Bytes of one sidecar.
    pub sidecar_bytes_max: u64,
}

impl Bounds {
    /// The limits.
    ///
    /// # Errors
    ///
    /// As [`tachograph_core::LimitsBuilder::build`].
    pub fn limits(self) -> Result<Limits, Error> {
        Limits::builder()
            .entries_max(self.entries_max)
            .bytes_max(self.bytes_max)
            .profile_bytes_max(self.profile_bytes_max)
            .sidecar_bytes_max(self.sidecar_bytes_max)
            .build()
    }
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When. Of events at the same time the first in the list comes first, and
    /// the recorder does nothing before the last of them.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happens. An event that makes no sense at its time (a request where no
/// recorder is) does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The service starts, and a recorder in it.
    Start(Start),
    /// The application asks for a capture.
    Request {
        /// Why.
        reason: String,
    },
    /// A task starts, which may be a trigger.
    Task {
        /// Its name.
        name: String,
    },
    /// Somebody asks the recorder to stop, and waits for it.
    Stop,
    /// The last handle goes.
    DropHandles,
    /// The runtime shuts down.
    DropDriver {
        /// Whether it still runs the blocking work that it has.
        finishes_work: bool,
    },
    /// The process dies.
    Kill {
        /// What it leaves of a capture that it was about to publish.
        leaves: Leaves,
    },
    /// The runtime refuses blocking work, for want of threads, from here on.
    RefuseWork(bool),
    /// The wall clock is stepped.
    StepWall {
        /// How far; backwards if negative.
        by_ms: i64,
    },
    /// The machine sleeps: the monotonic clock stands still.
    Suspend {
        /// How long.
        for_ms: u64,
    },
    /// Somebody puts a file into the directory.
    Put {
        /// Its name, which no capture has.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// Somebody makes a directory in the directory.
    PutOther {
        /// Its name.
        name: String,
    },
    /// Somebody makes a directory with the name of a capture that would start
    /// so much later.
    Squat {
        /// How much later.
        in_ms: u64,
        /// Which of the names of a capture.
        entry: Squatted,
    },
    /// Somebody removes again what they put there.
    Remove {
        /// Its name.
        name: String,
    },
    /// The operator takes all complete captures away.
    Collect,
    /// The file system fills or empties.
    Free {
        /// What is left.
        bytes: Option<u64>,
    },
    /// Profiles have this size from now on.
    ProfileBytes(u64),
}

/// How a recorder is started, and how its parts behave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The deadline, by the wall clock.
    pub until_ms: i64,
    /// How long every piece of blocking work waits before it is run.
    pub lag_ms: u64,
    /// How long a snapshot takes.
    pub snapshot_ms: u64,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// A call that goes wrong: which, and the how-manieth of this recorder, counted
/// from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which call.
    pub call: Call,
    /// Which time.
    pub nth: u64,
    /// How.
    pub how: How,
}

/// A call into a part of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Call {
    /// The store recovers.
    Recover,
    /// The store counts.
    Usage,
    /// The store makes the unfinished profile.
    Stage,
    /// The store publishes.
    Publish,
    /// The store closes.
    Close,
    /// The sampler starts.
    SamplerStart,
    /// The session is looked at for the first time. `nth` counts sessions.
    SamplerCheck,
    /// The session stops. `nth` counts sessions.
    SamplerStop,
    /// The samples are encoded. `nth` counts sessions.
    SamplerEncode,
    /// A snapshot is taken.
    Snapshot,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// It returns an error.
    Error,
    /// It panics.
    Panic,
    /// A sampler's start finds somebody else profiling; elsewhere an error.
    Busy,
    /// A snapshot never comes; elsewhere an error.
    Never,
}

impl How {
    /// The fault as the doubles know it: an error of `kind`, where it does not
    /// say otherwise.
    pub(crate) fn or_error(self, kind: ErrorKind) -> testing::Fault {
        match self {
            Self::Error | Self::Never => testing::Fault::Error(kind),
            Self::Busy => testing::Fault::Error(ErrorKind::Busy),
            Self::Panic => testing::Fault::Panic,
        }
    }
}

/// What a process that dies leaves beside the unfinished profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leaves {
    /// Nothing.
    Profile,
    /// An unfinished sidecar too.
    PartialSidecar,
    /// A finished sidecar too.
    Sidecar,
}

/// One of the names that a capture needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Squatted {
    /// The unfinished profile's.
    PartialProfile,
    /// The sidecar's.
    Sidecar,
    /// The profile's.
    Profile,
}

/// The tasks whose start asks for a capture.
pub const TRIGGERS: [&str; 2] = ["compaction", "reindex"];
