//! Perf events that signal, for where the system refuses timers.
//!
//! An event is a descriptor. The signal it sends carries the descriptor's
//! number instead of a cookie, so the [table](super::table) of threads knows
//! which thread has which.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

/// The `si_code` of a signal that an event sent.
pub(crate) const CODE: libc::c_int = 1; // POLL_IN

/// The kernel's `struct perf_event_attr` as it was first published, which it
/// takes for good.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64); // PERF_ATTR_SIZE_VER0

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;

/// `disabled`, `exclude_kernel` and `exclude_hv`: not before it is told to, and
/// in user space alone, which is what an unprivileged process may ask for.
const FLAGS: u64 = 1 << 0 | 1 << 5 | 1 << 6;

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

// `_IO('$', 0)`, `_IO('$', 1)` and `_IOW('$', 4, __u64)`.
const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
const PERF_EVENT_IOC_DISABLE: libc::c_ulong = 0x2401;
const PERF_EVENT_IOC_PERIOD: libc::c_ulong = 0x4008_2404;

const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_GETOWN_EX: libc::c_int = 16;
const F_OWNER_TID: libc::c_int = 0;

/// The kernel's `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    id: libc::pid_t,
}

/// The least time to a first expiry: enough for a handler to set the period
/// before the next one.
const FIRST_MIN: Duration = Duration::from_micros(20);

/// A perf event on the CPU time that one thread spends in user space; closed,
/// and so ended, when dropped.
#[derive(Debug)]
pub(crate) struct Event(File);

impl Event {
    /// An event on `thread`, which gets its signals. It expires `first` after it
    /// was started and then every `first` again, until the handler
    /// [sets the period](set_period).
    pub(crate) fn on_thread(thread: i32, first: Duration) -> io::Result<Self> {
        let attributes = Attributes {
            kind: PERF_TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_SW_CPU_CLOCK,
            sample_period: u64::try_from(first.max(FIRST_MIN).as_nanos()).unwrap_or(u64::MAX),
            flags: FLAGS,
            wakeup_events: 1,
            ..Attributes::default()
        };
        let (any_cpu, no_group) = (-1, -1);
        // SAFETY: the attributes live through the call, and say how long they
        // are.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread,
                any_cpu,
                no_group,
                PERF_FLAG_FD_CLOEXEC,
            )
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        let event = Self(unsafe { File::from_raw_fd(descriptor as i32) });
        if event.descriptor() as u64 >= descriptors_max() {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let owner = Owner {
            kind: F_OWNER_TID,
            id: thread,
        };
        // SAFETY: the descriptor is open, and the owner lives through the call.
        check(unsafe { libc::fcntl(event.descriptor(), F_SETOWN_EX, &raw const owner) })?;
        // SAFETY: the descriptor is open.
        check(unsafe { libc::fcntl(event.descriptor(), F_SETSIG, libc::SIGPROF) })?;
        // SAFETY: the descriptor is open.
        check(unsafe { libc::fcntl(event.descriptor(), libc::F_SETFL, libc::O_ASYNC) })?;
        Ok(event)
    }

    /// Its number, which its signals carry.
    pub(crate) fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub(crate) fn start(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open; the request takes nothing.
        check(unsafe { libc::ioctl(self.descriptor(), PERF_EVENT_IOC_ENABLE, 0) })
    }

    /// Ends its signals, also if a forked child has the descriptor too.
    pub(crate) fn stop(&self) {
        // SAFETY: the descriptor is open; the request takes nothing, and an
        // event that cannot be disabled ends when it is closed.
        unsafe { libc::ioctl(self.descriptor(), PERF_EVENT_IOC_DISABLE, 0) };
    }

    /// Whether the thread whose event it is has ended: then it has no owner.
    pub(crate) fn is_over(&self) -> bool {
        let mut owner = Owner {
            kind: F_OWNER_TID,
            id: 0,
        };
        // SAFETY: the descriptor is open, and the owner a place of ours.
        let result = unsafe { libc::fcntl(self.descriptor(), F_GETOWN_EX, &raw mut owner) };
        result != 0 || owner.id == 0
    }
}

/// Has an event expire every `nanos` from now on. For a handler of the event's
/// own signal.
pub(crate) fn set_period(descriptor: i32, nanos: u64) {
    // SAFETY: the period lives through the call. While a handler runs the
    // event is open.
    unsafe { libc::ioctl(descriptor, PERF_EVENT_IOC_PERIOD, &raw const nanos) };
}

/// Closes what a forked child has of its parent's event. For the child.
pub(crate) fn close_copy(descriptor: i32) {
    // SAFETY: the table of the parent has the descriptor, which is open as long
    // as it is there; nobody in the child uses its copy.
    unsafe { libc::close(descriptor) };
}

/// Events leave the upper quarter of the descriptors that the process may have
/// to the application. The lowest free number is given out first, so a number
/// tells how many are in use.
fn descriptors_max() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes to a place that is ours.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur / 4 * 3
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
