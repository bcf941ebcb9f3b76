//! Clocks of CPU time, and one that is cheap enough to time a handler.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to a place that is ours. It fails for unknown
    // clocks only, and then there is a zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The CPU time of this process, of threads that have ended too.
pub(crate) fn process_cpu() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Nanoseconds since some moment. No system call, and fit for a handler.
#[inline]
pub(crate) fn nanos() -> u64 {
    let now = read(libc::CLOCK_MONOTONIC);
    now.as_secs() * 1_000_000_000 + u64::from(now.subsec_nanos())
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
