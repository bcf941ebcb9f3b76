//! CPU profiles in the format of [pprof]: build, symbolize, encode and decode them.
//!
//! A sampler hands stacks of addresses to a [`ProfileBuilder`]. What it finishes,
//! together with the [`LoadedModules`] of the process, is a [`Profile`] with function
//! names, mappings and build ids, which [`Profile::encode_gz`] writes in the form
//! that `go tool pprof` and many other tools read. [`Profile::decode`] reads one
//! back, and refuses what is not one.
//!
//! [pprof]: https://github.com/google/pprof/blob/main/proto/profile.proto
//!
//! ```
//! # if cfg!(any(target_os = "linux", target_os = "macos")) {
//! use std::time::{Duration, SystemTime};
//! use tachograph_profile::{Labels, LoadedModules, Names, Profile, ProfileBuilder, ProfileMeta};
//!
//! let mut builder = ProfileBuilder::new(ProfileMeta {
//!     started_at: SystemTime::now(),
//!     duration: Duration::from_secs(30),
//!     frequency_hz: 100,
//! });
//! let leaf = Duration::from_secs as fn(u64) -> Duration as usize as u64;
//! let labels = Labels { thread: Some("worker-1"), task: Some("compaction") };
//! builder.add(&[leaf], labels, 3);
//!
//! let profile = builder.finish(&LoadedModules::current()?, Names::SymbolTable, None);
//! assert_eq!(profile.total("samples"), Some(3));
//! assert_eq!(profile.total("cpu"), Some(30_000_000));
//!
//! let mut bytes = Vec::new();
//! profile.encode_gz(&mut bytes)?;
//! assert_eq!(Profile::decode(&bytes, 1 << 20)?, profile);
//! # }
//! # Ok::<(), tachograph_profile::Error>(())
//! ```
//!
//! What only a reader of profiles needs, and a service never, is in `reader`, behind
//! the feature of that name.
//!
//! Nothing here samples, and nothing here is written for a signal handler: all of it
//! allocates, and looking up names reads files.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod build;
mod check;
mod crates;
mod debug;
mod decode;
mod draft;
mod encode;
mod error;
mod ids;
mod image;
mod loaded;
mod module;
mod profile;
pub mod proto;
mod readable;
#[cfg(feature = "reader")]
pub mod reader;
mod samples;
mod strings;
mod symbolize;
mod symbols;
mod view;
mod wire;

pub use build::{Labels, ProfileBuilder, ProfileMeta};
pub use error::{Error, ErrorKind, Result};
pub use module::{LoadedModules, Module, Segment};
pub use profile::Profile;
pub use symbolize::Names;
pub use view::{FrameView, MappingView, SampleView};
