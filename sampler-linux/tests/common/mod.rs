//! What the tests of this crate share. Not every one uses all of it.

#![allow(dead_code, unused_imports)]

use std::process::Output;
use std::thread;
use std::time::Duration;

use tachograph_core::{Sampler, Session};
use tachograph_sampler_linux::LinuxSampler;
pub(crate) use tachograph_test_support::{
    burn as burn_as_leaf, finish, in_own_process, process_cpu, thread_cpu, told,
};

pub(crate) fn start(frequency_hz: u32) -> Box<dyn Session> {
    LinuxSampler::new()
        .start(frequency_hz)
        .expect("nobody else samples")
}

pub(crate) fn own_process(test: &str, case: impl FnOnce()) -> Option<Output> {
    tachograph_test_support::own_process(test, |_| {}, case)
}

/// Lets `count` threads work, each again and again, until the process has used
/// `cpu`; so a slow machine is tried no less.
pub(crate) fn work_on_threads(count: usize, cpu: Duration, work: impl Fn() + Sync) {
    let until = process_cpu() + cpu;
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while process_cpu() < until {
                    work();
                }
            });
        }
    });
}
