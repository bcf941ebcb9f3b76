//! An opt-in CPU flight recorder for Rust services.
//!
//! A service links it once. On an ordinary day it does nothing. When something
//! is slow in production, an operator sets a directory and a deadline, restarts
//! the service, and comes back to a folder of CPU profiles that explain
//! themselves: bounded in time, rate and bytes, private on disk, and true.
//!
//! ```no_run
//! use tachograph::{Recorder, json};
//!
//! # struct Pool;
//! # impl Pool { fn open(&self) -> u32 { 0 } fn idle(&self) -> u32 { 0 } }
//! # async fn compact() {}
//! # #[cfg(feature = "tokio")]
//! # async fn service(pool: std::sync::Arc<Pool>) {
//! let recorder = tachograph::from_env() // TACHOGRAPH_DIR, TACHOGRAPH_UNTIL
//!     .trigger("compaction")
//!     .snapshot(move || json!({ "open": pool.open(), "idle": pool.idle() }))
//!     .start(tachograph::tokio()) // inert unless both variables are set
//!     .unwrap_or_else(|error| {
//!         eprintln!("no profiles: {error:#}");
//!         Recorder::inert()
//!     });
//! recorder.task("compaction", compact()).await; // labelled, and a trigger
//! recorder.stop().await;
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `tokio` | | [`tokio()`](tokio()): run on tokio |
//! | `smol` | | [`smol()`](smol()): run on smol |
//! | `storage-posix` | yes | captures in a private directory |
//! | `sampler` | yes | [`BestSampler`], used by default: that for Linux on x86_64 and aarch64, else that on the `pprof` crate |
//! | `sampler-linux` | | [`LinuxSampler`] |
//! | `sampler-pprof` | | [`PprofSampler`] |
//! | `process` | yes | CPU time and threads of the process in every sidecar |
//! | `testing` | | [`testing`]: doubles for deterministic tests |
//!
//! Another executor needs none of the first two: [`Builder::build`] hands out
//! the driver as a plain future.
//!
//! # What a recorder does not do
//!
//! It sends nothing anywhere, and records neither the command line nor the
//! environment. Its failure is never the service's: errors after the start end
//! recording with one warning, and panics in its parts are contained (under
//! `panic = "unwind"`, that is).

#![forbid(unsafe_code)]

mod builder;

pub use builder::{Builder, DIRECTORY_VARIABLE, UNTIL_VARIABLE, builder, from_env};
pub use serde_json::{Value, json};
pub use tachograph_core::{
    CappedWriter, Clock, Connection, Coverage, Driver, End, Error, ErrorKind, Exhausted, Instant,
    LabelChannel, Limits, LimitsBuilder, Name, Offload, Policy, PolicyBuilder, ProcessCpu, Reason,
    Recorder, Requests, Runtime, Sampler, SamplerInfo, Samples, SamplingGuard, Session, Sidecar,
    SidecarExecutable, SidecarSampler, Snapshot, SnapshotSource, Span, State, Status, Store, Task,
    TimeSource, Timestamp, Truth, async_trait, labels, offload, store,
};
#[cfg(feature = "process")]
pub use tachograph_process::ProcessSnapshot;
#[cfg(feature = "sampler")]
pub use tachograph_sampler::BestSampler;
#[cfg(feature = "sampler-linux")]
pub use tachograph_sampler_linux::{LinuxSampler, Names as LinuxNames};
#[cfg(feature = "sampler-pprof")]
pub use tachograph_sampler_pprof::{Names as PprofNames, PprofSampler};
#[cfg(feature = "smol")]
pub use tachograph_smol::{Smol, SmolClock, SmolOffload, smol};
#[cfg(feature = "storage-posix")]
pub use tachograph_storage_posix::PosixStore;
#[cfg(feature = "tokio")]
pub use tachograph_tokio::{RuntimeSnapshot, Tokio, TokioClock, TokioOffload, tokio};

#[cfg(feature = "testing")]
pub use tachograph_core::testing;
