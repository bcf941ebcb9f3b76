//! What a subject does while it is measured, whatever samples it.
//!
//! The same sources are part of every subject: of this program, which knows the
//! project's samplers, and of the peer that stands on the bare `pprof` crate.

pub(crate) mod args;
pub(crate) mod burn;
pub(crate) mod cases;
mod chains;
pub(crate) mod clock;
pub(crate) mod crew;
pub(crate) mod interpose;
pub(crate) mod process;
pub(crate) mod profiler;
pub(crate) mod report;
mod service;

/// Why a subject cannot be measured.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
