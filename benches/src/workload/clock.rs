//! Clocks of CPU time, and one that is cheap enough to time a handler.

pub(crate) use tachograph_test_support::{process_cpu, thread_cpu};

/// Nanoseconds since some moment. No system call, and fit for a handler.
#[inline]
pub(crate) fn nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to a place that is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How often the kernel's tick comes, at which it looks at timers on CPU time.
pub(crate) fn tick_hz() -> f64 {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to a place that is ours.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    1e9 / (tick.tv_nsec.max(1) as f64)
}
