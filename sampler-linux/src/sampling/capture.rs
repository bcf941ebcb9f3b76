//! What handlers share with the rest of a running capture.

use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::in_flight::InFlight;
use super::ring::Ring;
use super::table::Table;
use super::{event, kernel};

/// How long to wait for handlers in flight: much longer than one takes, also
/// on a machine with too much to do.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(5);

/// The memory of one capture.
#[derive(Debug)]
pub(crate) struct Capture {
    /// Part of every cookie of this capture.
    pub(crate) number: u16,
    pub(crate) process: i32,
    /// How much CPU time a sample stands for.
    pub(crate) period: Duration,
    pub(crate) ring: Ring,
    pub(crate) table: Table,
    pub(crate) lost: Lost,
    /// Asks the drain to come to an end.
    pub(crate) stop: AtomicBool,
    /// Whether a thread has registered itself since the drain last asked.
    newcomer: AtomicBool,
    bell: AtomicU32,
}

/// Samples that a handler had to leave out, by cause.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// No slot was free.
    pub(crate) ring_full: AtomicU64,
    /// The signal came when its thread was not armed any more.
    pub(crate) late: AtomicU64,
}

impl Capture {
    pub(crate) fn new(slots: usize, stack_bytes: usize, period: Duration) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);

        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed) as u16,
            process: kernel::process_id(),
            period,
            ring: Ring::new(slots, stack_bytes)?,
            table: Table::new()?,
            lost: Lost::default(),
            stop: AtomicBool::new(false),
            newcomer: AtomicBool::new(false),
            bell: AtomicU32::new(0),
        })
    }

    /// Wakes the drain. For handlers, too.
    pub(crate) fn ring_bell(&self) {
        if self.bell.swap(1, Ordering::Release) == 0 {
            // SAFETY: the futex is an aligned word of ours; nobody is touched
            // but threads that wait on it.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.bell.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                )
            };
        }
    }

    /// Whether a thread has registered itself since the last call.
    pub(crate) fn take_newcomer(&self) -> bool {
        self.newcomer.swap(false, Ordering::Acquire)
    }

    /// Waits for the bell, but no longer than `wait`.
    pub(crate) fn await_bell(&self, wait: Duration) {
        let time = libc::timespec {
            tv_sec: wait.as_secs() as _,
            tv_nsec: wait.subsec_nanos().into(),
        };
        // SAFETY: the futex is an aligned word of ours, the time lives through
        // the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.bell.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                0,
                &raw const time,
            )
        };
        self.bell.store(0, Ordering::Release);
    }
}

/// The capture that handlers write to.
static HANDLERS: InFlight<Capture> = InFlight {
    lent: AtomicPtr::new(ptr::null_mut()),
    users: AtomicUsize::new(0),
};

/// The right of handlers to use a capture; ends when dropped.
#[derive(Debug)]
pub(crate) struct Active {
    capture: Arc<Capture>,
}

impl Active {
    /// Lets handlers use `capture`. There must be no other one, which the
    /// process-wide sampling guard sees to.
    pub(crate) fn new(capture: Arc<Capture>) -> Self {
        // SAFETY: it is kept until it is back, see `drop`.
        unsafe { HANDLERS.lend(Arc::as_ptr(&capture)) };
        Self { capture }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        HANDLERS.call_back();
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_micros(20);
        while !HANDLERS.is_back() {
            if waited > QUIET_WAIT_MAX {
                // A thread was stopped inside its handler, as by a debugger.
                // It may go on at any time, so its memory has to stay.
                std::mem::forget(Arc::clone(&self.capture));
                return;
            }
            thread::sleep(pause);
            waited += pause;
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

/// Tells the drain of the active capture, if there is one, that a thread has
/// registered itself.
pub(crate) fn announce_newcomer() {
    with_active(|capture| {
        capture.newcomer.store(true, Ordering::Release);
        capture.ring_bell();
    });
}

/// Lets a handler use the active capture, if there is one.
pub(crate) fn with_active<R>(work: impl FnOnce(&Capture) -> R) -> Option<R> {
    HANDLERS.with(work)
}

/// In a child after a fork: the capture is the parent's, and handlers that
/// were in flight in other threads are not here.
pub(crate) fn forget_parents_capture() {
    with_active(|capture| capture.table.descriptors().for_each(event::close_copy));
    HANDLERS.forget();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_is_told_of_once() {
        let capture = Capture::new(1, 0, Duration::from_millis(10)).expect("memory");
        capture.newcomer.store(true, Ordering::Release);
        assert!(capture.take_newcomer());
        assert!(!capture.take_newcomer());
    }

    #[test]
    fn a_bell_rung_before_the_wait_is_heard() {
        let capture = Capture::new(1, 0, Duration::from_millis(10)).expect("memory");
        capture.ring_bell();
        capture.ring_bell();
        // Would wait for an hour if it were not.
        capture.await_bell(Duration::from_secs(3600));
        capture.await_bell(Duration::from_millis(1));
    }
}
