//! Doubles for every part of a recorder, and suites that every implementation
//! must pass. Behind the feature `testing`: for tests, never for a service.
//!
//! A recorder of doubles is deterministic: time moves when a test moves it.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//! use tachograph_core::testing::{
//!     InlineOffload, ManualClock, MemoryDirectory, MemoryStore, ScriptedSampler, Simulation,
//! };
//! use tachograph_core::{Instant, Parts, Recorder, Window};
//!
//! let wall = SystemTime::UNIX_EPOCH;
//! let clock = ManualClock::new(wall);
//! let window = Window::until(wall + Duration::from_secs(3600), wall)?.expect("open");
//! let directory = MemoryDirectory::new();
//! let (recorder, driver) = Recorder::new(Parts::new(
//!     window,
//!     Arc::new(clock.clone()),
//!     Arc::new(InlineOffload),
//!     Arc::new(ScriptedSampler::new()),
//!     Box::new(MemoryStore::open(&directory)?),
//! ))?;
//! let mut simulation = Simulation::new(clock);
//! simulation.spawn(driver);
//! simulation.run_until(Instant::from_origin(Duration::from_secs(1800)));
//! assert_eq!(directory.captures().len(), 1);
//! # drop(recorder);
//! # Ok::<(), tachograph_core::Error>(())
//! ```

pub mod conformance;
mod faults;
mod manual_clock;
mod memory_store;
mod offloads;
mod scripted_sampler;
mod simulation;

pub use faults::{Fault, FaultySnapshot, FaultyStore, StoreCall};
pub use manual_clock::ManualClock;
pub use memory_store::{MemoryDirectory, MemoryStore};
pub use offloads::{DelayedOffload, InlineOffload, QueuedOffload};
pub use scripted_sampler::{SamplerCall, ScriptedSampler};
pub use simulation::Simulation;
