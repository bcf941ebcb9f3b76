//! What can be asked and said about `SIGPROF` in no safe way.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// What the process does about `SIGPROF`.
#[derive(Clone, Copy)]
pub(crate) struct Action(libc::sigaction);

impl Action {
    /// What it does now.
    pub(crate) fn current() -> io::Result<Self> {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: with no new action the call only writes the present one, to
        // a place that is large enough and ours.
        let result = unsafe { libc::sigaction(libc::SIGPROF, ptr::null(), action.as_mut_ptr()) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so it has written all of it.
        Ok(Self(unsafe { action.assume_init() }))
    }

    /// Whether a handler would run.
    pub(crate) fn is_handled(&self) -> bool {
        self.0.sa_sigaction != libc::SIG_DFL && self.0.sa_sigaction != libc::SIG_IGN
    }

    /// Whether both would run the same handler.
    pub(crate) fn has_handler_of(&self, other: &Self) -> bool {
        self.0.sa_sigaction == other.0.sa_sigaction
    }

    /// Makes the process do this again.
    pub(crate) fn restore(&self) {
        // SAFETY: the action was in force in this process before, so whatever
        // its handler needs is the business of whoever installed it. The call
        // reads it, and fails for no signal that exists.
        unsafe { libc::sigaction(libc::SIGPROF, &raw const self.0, ptr::null_mut()) };
    }
}

/// Whether nobody else uses `SIGPROF` or its interval timer: it has its default
/// action or is ignored (as the `pprof` crate leaves it), and the timer is off.
pub(crate) fn is_free() -> io::Result<bool> {
    Ok(!Action::current()?.is_handled() && !is_timer_armed()?)
}

fn is_timer_armed() -> io::Result<bool> {
    let mut timer = MaybeUninit::<libc::itimerval>::uninit();
    // SAFETY: the call only writes the timer's state, to a place that is large
    // enough and ours.
    let result = unsafe { libc::getitimer(libc::ITIMER_PROF, timer.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it has written all of it.
    let left = unsafe { timer.assume_init() }.it_value;
    Ok(left.tv_sec != 0 || left.tv_usec != 0)
}

/// Lets the handler of `SIGPROF`, which must be installed, run once on this
/// thread, also if the thread blocks the signal.
pub(crate) fn raise_here() -> io::Result<()> {
    let mut only_prof = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set that `sigaddset` then changes;
    // both get a place that is large enough and ours, and a signal that
    // exists, so neither fails. `pthread_sigmask` reads that set, writes the
    // other, and changes only this thread's mask. `raise` directs the signal
    // at this thread and returns after its handler has.
    unsafe {
        libc::sigemptyset(only_prof.as_mut_ptr());
        libc::sigaddset(only_prof.as_mut_ptr(), libc::SIGPROF);
        let result =
            libc::pthread_sigmask(libc::SIG_UNBLOCK, only_prof.as_ptr(), before.as_mut_ptr());
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        let raised = libc::raise(libc::SIGPROF);
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        if raised != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
