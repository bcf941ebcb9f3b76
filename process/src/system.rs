//! The questions themselves. `None` where the system cannot tell.

use tachograph_core::ProcessCpu;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn cpu() -> Option<ProcessCpu> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::{TimeVal, TimeValLike};

    // One division of a whole number, so that the seconds print with the
    // digits that the kernel gave.
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some(ProcessCpu {
        user_seconds: seconds(usage.user_time()),
        system_seconds: seconds(usage.system_time()),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn cpu() -> Option<ProcessCpu> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) fn threads() -> Option<u64> {
    threads_in(&std::fs::read("/proc/self/status").ok()?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn threads() -> Option<u64> {
    None
}

/// The `Threads:` line of `/proc/self/status`. In bytes: the process may have
/// given itself a name that is not UTF-8.
#[cfg(any(target_os = "linux", test))]
fn threads_in(status: &[u8]) -> Option<u64> {
    let count = status
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"Threads:"))?;
    std::str::from_utf8(count).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_whatever_the_process_calls_itself() {
        let status = b"Name:\tThreads:\t9\xff\nUmask:\t0022\nThreads:\t17\nSigQ:\t0/1\n";
        assert_eq!(threads_in(status), Some(17));
    }

    #[test]
    fn what_is_not_there_is_not_told() {
        for status in [
            &b""[..],
            b"Name:\tservice\n",
            b"Threads:\n",
            b"Threads:\tmany\n",
        ] {
            assert_eq!(threads_in(status), None);
        }
    }
}
