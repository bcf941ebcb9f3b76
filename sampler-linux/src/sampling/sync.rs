//! The atomics of [`slots`](super::slots), which its model test replaces.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
