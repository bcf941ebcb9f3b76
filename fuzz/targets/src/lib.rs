//! What is tried with input that nobody trusts.
//!
//! Each target is a function of bytes that panics if a promise is broken. The
//! fuzzer calls it with whatever it thinks of (`cargo +nightly fuzz run NAME`,
//! in the folder `fuzz`); an ordinary test calls it with what the fuzzer found
//! worth keeping, `fuzz/corpus/NAME`.

#![forbid(unsafe_code)]

mod entries;
mod profile;
mod reader;
mod settings;
mod sidecar;

pub use entries::entries;
pub use profile::{UNCOMPRESSED_MAX, profile};
pub use reader::reader;
pub use settings::settings;
pub use sidecar::sidecar;

/// A target: it panics if its input breaks a promise.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: [(&str, Target); 5] = [
    ("entries", entries),
    ("profile", profile),
    ("reader", reader),
    ("settings", settings),
    ("sidecar", sidecar),
];

/// Takes a number off the front of the input; 0 if that is too short.
fn number(input: &mut &[u8]) -> u64 {
    match input.split_first_chunk() {
        Some((number, rest)) => {
            *input = rest;
            u64::from_le_bytes(*number)
        }
        None => 0,
    }
}
