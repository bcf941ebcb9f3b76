//! Clocks of CPU time.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to a place that is ours.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "a clock of CPU time");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The CPU time of the calling thread.
///
/// # Panics
///
/// If the system has no such clock.
pub fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The CPU time of this process, of threads that have ended too.
///
/// # Panics
///
/// If the system has no such clock.
pub fn process_cpu() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}
