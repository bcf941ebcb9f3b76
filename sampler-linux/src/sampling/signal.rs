//! The disposition of `SIGPROF`: ours once and for all.
//!
//! The handler is installed before the first capture and stays. An inert
//! handler harms nobody; the default action, restored while a signal is on its
//! way, ends the process.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tachograph_core::{Error, ErrorKind};

use super::cookie::{Cookie, Source};
use super::{capture, handler, registry};

/// The handler that foreign signals are passed on to: its address, and
/// [`SIGINFO`] if it takes three arguments. 0: none.
static FOREIGN: AtomicU64 = AtomicU64::new(0);

/// No address in user space has this bit.
const SIGINFO: u64 = 1 << 63;

/// How many probes have arrived.
static PROBES: AtomicU64 = AtomicU64::new(0);

/// Sees to it that our handler gets `SIGPROF`.
///
/// # Errors
///
/// [`ErrorKind::Busy`] if somebody else has taken the signal over since and
/// does not pass it on.
pub(crate) fn install() -> Result<(), Error> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);

    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let present = action(None).map_err(failed)?;
    if *installed && is_ours(&present) {
        return Ok(());
    }
    if *installed && is_handler(&present) {
        // Putting ours on top of one that may pass signals on to ours could
        // send a signal round in circles.
        return if probe().map_err(failed)? {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Busy,
                "somebody else handles SIGPROF and does not pass it on",
            ))
        };
    }
    if !*installed {
        pin_this_library();
        // SAFETY: the function is a plain one of ours, and fit for a child.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
    }
    set_foreign(&present);
    let replaced = action(Some(&ours())).map_err(failed)?;
    set_foreign(&replaced);
    *installed = true;
    Ok(())
}

/// Whether our handler is still the one that gets the signal. If it was reset
/// to an action that could end the process, it is put back.
pub(crate) fn is_installed() -> bool {
    let Ok(present) = action(None) else {
        return true;
    };
    if is_ours(&present) {
        return true;
    }
    if !is_handler(&present) {
        FOREIGN.store(0, Ordering::Release);
        // Nothing can be done if this fails.
        drop(action(Some(&ours())));
    }
    false
}

/// Passes a signal that is not ours on to whom it reached before.
///
/// # Safety
///
/// The arguments must be those of the handler that calls this.
pub(crate) unsafe fn pass_on(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let foreign = FOREIGN.load(Ordering::Acquire);
    let address = (foreign & !SIGINFO) as usize;
    if address == 0 {
        return;
    }
    if foreign & SIGINFO != 0 {
        // SAFETY: it was installed with SA_SIGINFO, so it is such a function,
        // and it gets what the kernel would have passed to it.
        unsafe {
            let handler: unsafe extern "C" fn(
                libc::c_int,
                *mut libc::siginfo_t,
                *mut libc::c_void,
            ) = std::mem::transmute(address);
            handler(signal, info, context);
        }
    } else {
        // SAFETY: it was installed without SA_SIGINFO and is no constant, so it
        // is a function of the signal's number.
        unsafe {
            let handler: unsafe extern "C" fn(libc::c_int) = std::mem::transmute(address);
            handler(signal);
        }
    }
}

/// Notes that a probe has arrived.
pub(crate) fn note_probe() {
    PROBES.fetch_add(1, Ordering::Release);
}

/// Sends this thread a signal like those of our timers, and says whether our
/// handler got it.
fn probe() -> io::Result<bool> {
    let cookie = Cookie {
        capture: 0,
        source: Source::Probe,
    };
    let before = PROBES.load(Ordering::Acquire);
    let unblocked = Unblocked::new()?;
    let result = handler::send(cookie);
    drop(unblocked);
    result?;
    Ok(PROBES.load(Ordering::Acquire) != before)
}

/// Lets `SIGPROF` through in this thread; the mask it had is back when dropped.
struct Unblocked(libc::sigset_t);

impl Unblocked {
    fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set that is then changed and
        // read; if the last call succeeds, it has written the other.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGPROF);
            match libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), before.as_mut_ptr()) {
                0 => Ok(Self(before.assume_init())),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        // SAFETY: it sets this thread's mask to what it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// Blocks every signal but ours, and those that come of the thread's own
/// doing, so that this thread is no place where the application's signals are
/// handled.
pub(crate) fn take_no_others_signals() {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises the set that is then changed and read;
    // only this thread's mask changes.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        for signal in [
            libc::SIGPROF,
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGABRT,
        ] {
            libc::sigdelset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut());
    }
}

extern "C" fn after_fork_in_child() {
    capture::forget_parents_capture();
    registry::keep_only_this_thread();
}

/// If this code lives in a library, that library must not be unloaded any
/// more: the handler may run at any time.
fn pin_this_library() {
    // SAFETY: both functions read names and addresses that live through the
    // calls. The handle is not closed, which is the purpose.
    unsafe {
        let mut library = MaybeUninit::<libc::Dl_info>::zeroed();
        let function = handler::address() as *const libc::c_void;
        if libc::dladdr(function, library.as_mut_ptr()) != 0 {
            libc::dlopen(
                library.assume_init().dli_fname,
                libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE,
            );
        }
    }
}

fn ours() -> libc::sigaction {
    // SAFETY: all zeroes is a valid action, with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler::address();
    // On the alternate stack where there is one: a thread may be at the very
    // end of its own. System calls are restarted where they can be. The signal
    // is blocked meanwhile (no SA_NODEFER): where the kernel saves AVX-512
    // registers, a second signal on top of the first would need more than the
    // alternate stack that Rust gives its threads.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == handler::address()
}

fn is_handler(action: &libc::sigaction) -> bool {
    action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
}

fn set_foreign(action: &libc::sigaction) {
    let foreign = if !is_handler(action) || is_ours(action) {
        0
    } else if action.sa_flags & libc::SA_SIGINFO != 0 {
        action.sa_sigaction as u64 | SIGINFO
    } else {
        action.sa_sigaction as u64
    };
    FOREIGN.store(foreign, Ordering::Release);
}

/// The action of `SIGPROF` before this call, which sets `new` if given.
fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `new` is null or a valid action, whose handler is ours and fit
    // for a signal; the old one goes to a place that is ours.
    let result = unsafe { libc::sigaction(libc::SIGPROF, new, old.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was zeroed, and then written.
    Ok(unsafe { old.assume_init() })
}

fn failed(source: io::Error) -> Error {
    Error::new(ErrorKind::Sampling, "cannot take the signal SIGPROF").with_source(source)
}

/// Whether the signal is blocked in `thread` of this process.
pub(crate) fn is_blocked_in(thread: i32) -> io::Result<bool> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"))?;
    let blocked = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    Ok(blocked >> (libc::SIGPROF - 1) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::*;

    #[test]
    fn a_blocked_signal_is_seen() {
        let thread = std::thread::spawn(|| {
            let own = kernel::thread_id();
            assert!(!is_blocked_in(own).expect("it is alive"));
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            // SAFETY: the set is filled before it is read, and only this
            // thread's mask changes.
            unsafe {
                libc::sigfillset(set.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            }
            assert!(is_blocked_in(own).expect("it is alive"));
        });
        thread.join().expect("it ran");
        assert!(is_blocked_in(i32::MAX).is_err());
    }
}
