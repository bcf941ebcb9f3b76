//! The core as others use it, on its doubles.

mod blocking;
mod doubles;
mod dropping;
mod recorder;
mod support;
mod tasks;
mod vectors;
