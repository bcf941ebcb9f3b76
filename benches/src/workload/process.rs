//! What `/proc` tells of this process.

use std::fs;

use super::Failure;

/// Kibibytes that `/proc/self/status` has under `name`, in bytes.
fn status_bytes(name: &str) -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .ok_or(format!("no {name} in /proc/self/status"))?
        .parse()?;
    Ok(kib * 1024.0)
}

/// Resident memory.
pub(crate) fn resident() -> Result<f64, Failure> {
    status_bytes("VmRSS")
}

/// Resident memory that is no page of a file: what nobody else can use.
pub(crate) fn resident_private() -> Result<f64, Failure> {
    status_bytes("RssAnon")
}

/// The most resident memory there was since the last [`reset_peak`].
pub(crate) fn resident_peak() -> Result<f64, Failure> {
    status_bytes("VmHWM")
}

/// Forgets the peak.
pub(crate) fn reset_peak() -> Result<(), Failure> {
    Ok(fs::write("/proc/self/clear_refs", "5")?)
}

/// How many threads there are.
pub(crate) fn threads() -> Result<usize, Failure> {
    Ok(fs::read_dir("/proc/self/task")?.count())
}

/// How often the threads of this process gave up their CPU to wait.
pub(crate) fn voluntary_switches() -> Result<f64, Failure> {
    let mut sum = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
            .ok_or("no voluntary_ctxt_switches")?;
        sum += count.trim().parse::<f64>()?;
    }
    Ok(sum)
}

/// How many timers there are: POSIX ones, where the kernel lists them, and the
/// interval timer on CPU time.
pub(crate) fn timers() -> Result<usize, Failure> {
    let posix = fs::read_to_string("/proc/self/timers")?
        .lines()
        .filter(|line| line.starts_with("ID:"))
        .count();
    // SAFETY: all zeroes is a valid value, and the call writes it.
    let interval = unsafe {
        let mut timer: libc::itimerval = std::mem::zeroed();
        libc::getitimer(libc::ITIMER_PROF, &raw mut timer);
        timer
    };
    let armed = interval.it_value.tv_sec != 0 || interval.it_value.tv_usec != 0;
    Ok(posix + usize::from(armed))
}
