//! The runtime-agnostic core of Tachograph, an opt-in CPU flight recorder for
//! services.
//!
//! Everything that decides is pure and here: whether to record
//! ([`OptIn`]), when ([`schedule`]), within what bounds ([`Limits`]), under
//! which names ([`labels`]). Everything that acts is behind a trait: time
//! ([`Clock`]), blocking work ([`Offload`]), samples ([`Sampler`]), files
//! ([`Store`]), and what the process knows of itself ([`SnapshotSource`]). One
//! loop, the [`Driver`], joins the two.
//!
//! The core names no async runtime, reads no clock, touches no file, spawns no
//! thread and has no unsafe code; lints hold that.
//!
//! A service links the facade crate `tachograph` instead of this one. Test
//! doubles and conformance suites for implementations of the traits are in
//! `testing`, behind the feature of that name.

#![forbid(unsafe_code)]

mod capped;
mod clock;
mod error;
pub mod labels;
mod limits;
mod name;
pub mod offload;
mod policy;
mod recorder;
mod runtime;
mod sampler;
pub mod schedule;
mod sidecar;
mod snapshot;
mod status;
pub mod store;
mod task;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod window;

pub use async_trait::async_trait;
pub use capped::CappedWriter;
pub use clock::Clock;
pub use error::{Error, ErrorKind};
pub use limits::{Exhausted, Limits, LimitsBuilder};
pub use name::{Name, Reason};
pub use offload::Offload;
pub use policy::{Policy, PolicyBuilder};
pub use recorder::{Driver, Parts, Recorder, SNAPSHOT_TIME_MAX, check_frequency};
pub use runtime::{Connection, Runtime};
pub use sampler::{
    LabelChannel, Sampler, SamplerInfo, Samples, SamplingGuard, Session, Span, Truth,
};
pub use sidecar::{Coverage, Requests, Sidecar, SidecarExecutable, SidecarSampler, TimeSource};
pub use snapshot::{Application, ProcessCpu, Snapshot, SnapshotSource};
pub use status::{End, State, Status};
pub use store::Store;
pub use task::Task;
pub use time::{Instant, Now, Timestamp};
pub use window::{OptIn, Setting, Window};
