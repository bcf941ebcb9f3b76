//! The atomics of [`slots`](super::slots) and [`in_flight`](super::in_flight),
//! which their model tests replace.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
