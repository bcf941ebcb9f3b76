//! Timers on CPU clocks.

use std::io;
use std::ptr;
use std::time::Duration;

use super::cookie::Cookie;

/// The CPU clock of a thread of this process, as the kernel encodes it
/// (`CPUCLOCK_SCHED` of one thread in `linux/posix-timers.h`).
pub(crate) fn clock_of(thread: i32) -> libc::clockid_t {
    (!thread << 3) | 0b110
}

/// A POSIX timer of this process, which an exec deletes and a fork does not
/// inherit. Deleted when dropped; must not be dropped in a forked child, where
/// its number may be another timer's.
#[derive(Debug)]
pub(crate) struct Timer {
    number: libc::c_int,
}

impl Timer {
    /// A timer on the CPU clock of `thread`, which gets its signals.
    pub(crate) fn on_thread(thread: i32, cookie: Cookie) -> io::Result<Self> {
        let mut event = event(cookie);
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = thread;
        Self::create(clock_of(thread), event)
    }

    /// A timer on the CPU clock of the process. The kernel (6.4 and later)
    /// signals the thread that was running.
    pub(crate) fn on_process(cookie: Cookie) -> io::Result<Self> {
        Self::create(libc::CLOCK_PROCESS_CPUTIME_ID, event(cookie))
    }

    fn create(clock: libc::clockid_t, mut event: libc::sigevent) -> io::Result<Self> {
        let mut number: libc::c_int = 0;
        // The system call itself, since the C library's function may allocate
        // and has another idea of a timer's number.
        // SAFETY: the kernel's sigevent is the C library's; both places are
        // ours and live through the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_timer_create,
                clock,
                &raw mut event,
                &raw mut number,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { number })
    }

    /// First after `first`, then every `period`. A `first` of zero would stop
    /// it, and is taken for the shortest time there is.
    pub(crate) fn start(&self, first: Duration, period: Duration) -> io::Result<()> {
        let first = first.max(Duration::from_nanos(1));
        let time = libc::itimerspec {
            it_value: timespec(first),
            it_interval: timespec(period),
        };
        // SAFETY: the call reads a place that is ours; the old value is not
        // asked for.
        let result = unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                self.number,
                0,
                &raw const time,
                ptr::null_mut::<libc::itimerspec>(),
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Whether the thread whose clock it is has ended: then there is no time
    /// to the next expiry.
    pub(crate) fn is_over(&self) -> bool {
        let mut time = libc::itimerspec {
            it_value: timespec(Duration::ZERO),
            it_interval: timespec(Duration::ZERO),
        };
        // SAFETY: the call writes to a place that is ours.
        let result = unsafe { libc::syscall(libc::SYS_timer_gettime, self.number, &raw mut time) };
        result != 0 || (time.it_value.tv_sec == 0 && time.it_value.tv_nsec == 0)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the number is that of a timer that this value alone knows.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.number) };
    }
}

fn event(cookie: Cookie) -> libc::sigevent {
    // SAFETY: a sigevent of zeroes is a valid one.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = libc::SIGPROF;
    event.sigev_value = libc::sigval {
        sival_ptr: cookie.to_bits() as usize as *mut libc::c_void,
    };
    event
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs() as _,
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::*;

    #[test]
    fn the_clock_of_a_thread_is_its_own() {
        let by_number = clock_of(kernel::thread_id());
        let before = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        let between = kernel::clock_nanos(by_number);
        let after = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        assert!((before..=after).contains(&between));
        assert_eq!(kernel::clock_nanos(clock_of(i32::MAX >> 4)), 0);
    }
}
