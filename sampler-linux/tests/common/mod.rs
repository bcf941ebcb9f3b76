//! What the tests of this crate share. Not every one uses all of it.

#![allow(dead_code, unused_imports)]

use std::process::Output;
use std::time::Duration;

use tachograph_core::{Sampler, Session};
use tachograph_sampler_linux::LinuxSampler;
pub(crate) use tachograph_test_support::{burn, finish, in_own_process, process_cpu, told};

pub(crate) fn start(frequency_hz: u32) -> Box<dyn Session> {
    LinuxSampler::new()
        .start(frequency_hz)
        .expect("nobody else samples")
}

/// Samples some work, and says how often.
pub(crate) fn capture() -> u64 {
    let session = start(1000);
    burn(Duration::from_millis(300));
    finish(session).1.samples
}

pub(crate) fn own_process(test: &str, case: impl FnOnce()) -> Option<Output> {
    tachograph_test_support::own_process(test, |_| {}, case)
}
