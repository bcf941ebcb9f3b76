//! The core as others use it, on its doubles.

mod behind_arc;
mod blocking;
mod doubles;
mod dropping;
mod printed;
mod recorder;
mod support;
mod tasks;
mod vectors;
