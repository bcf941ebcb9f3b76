//! Plays random histories of days on the real recorder and checks what must
//! always hold.
//!
//! A [`History`] is plain data: what happens to a service, its clocks, its
//! directory and the parts of its recorder. [`generate`] makes one from a seed,
//! [`play`] plays it on the real recorder and the doubles of
//! `tachograph_core::testing`, and [`Invariant::ALL`] judge the [`Record`] of
//! what was seen; one of them is an independent model of the schedule, written
//! from its specification. A history that breaks one is made as short as it
//! still does ([`shrink`]) and kept ([`regressions`]). A [`Sabotage`] breaks
//! something on purpose, to show that it would be noticed.

#![forbid(unsafe_code)]

mod generate;
mod history;
mod invariants;
mod logs;
mod model;
mod parts;
mod play;
mod pool;
mod record;
pub mod regressions;
mod sabotage;
mod shrink;
mod tally;
mod timeline;

pub use generate::generate;
pub use history::{
    Bounds, Call, Event, Fault, History, How, Leaves, Rhythm, Squatted, Start, TRIGGERS, What,
};
pub use invariants::{Invariant, Violation, judge};
pub use play::play;
pub use record::{
    Attempt, Dropped, EndLine, Inventory, Life, Moment, Published, Record, Refused, Seen,
};
pub use sabotage::Sabotage;
pub use shrink::shrink;
pub use tally::{Failure, Tally, run};
