//! Times a profiler's signal handler where it runs: between the kernel and the
//! profiler's handler stands one that reads the clock before and after it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};

use super::clock::nanos;
use super::report::quantile;

/// How many times are kept.
const TIMES_MAX: usize = 1 << 16;

/// Stands for signals that come of no POSIX timer.
const NO_TIMER: i32 = -1;

static HANDLER: AtomicUsize = AtomicUsize::new(0);
static TIMES: [AtomicU32; TIMES_MAX] = [const { AtomicU32::new(0) }; TIMES_MAX];
/// The timer of each of them.
static TIMERS: [AtomicI32; TIMES_MAX] = [const { AtomicI32::new(NO_TIMER) }; TIMES_MAX];
static KEEPS_TIMES: AtomicBool = AtomicBool::new(true);
static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Signals that this thread got; `None` if nobody wants to know. It lives
    /// in the executable and has no destructor, so a handler may read it.
    static SEEN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Stands between kernel and handler; steps aside when dropped.
pub(crate) struct Interposed {
    before: libc::sigaction,
}

impl Interposed {
    /// Times the handler that `SIGPROF` has now.
    ///
    /// # Errors
    ///
    /// If it has none with three arguments.
    pub(crate) fn new() -> io::Result<Self> {
        let before = action(None)?;
        let address = before.sa_sigaction;
        if address == libc::SIG_DFL
            || address == libc::SIG_IGN
            || before.sa_flags & libc::SA_SIGINFO == 0
        {
            return Err(io::Error::other("SIGPROF has no handler to be timed"));
        }
        COUNT.store(0, Ordering::SeqCst);
        HANDLER.store(address, Ordering::SeqCst);
        let mut timed = before;
        timed.sa_sigaction = on_signal as *const () as usize;
        action(Some(&timed))?;
        Ok(Self { before })
    }

    /// How long the handler ran each time in watched threads, in nanoseconds, by
    /// the timer whose signal it was.
    ///
    /// A profiler can have several timers of which it samples by one and does
    /// next to nothing at the others.
    pub(crate) fn times(&self) -> Vec<Vec<f64>> {
        let count = COUNT.load(Ordering::SeqCst).min(TIMES_MAX);
        let mut by_timer: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
        for (time, timer) in TIMES.iter().zip(&TIMERS).take(count) {
            let times = by_timer.entry(timer.load(Ordering::SeqCst)).or_default();
            times.push(f64::from(time.load(Ordering::SeqCst)));
        }
        by_timer.into_values().collect()
    }
}

impl Drop for Interposed {
    fn drop(&mut self) {
        // Should it fail, times go on being kept.
        drop(action(Some(&self.before)));
    }
}

/// Has the calling thread watched.
pub(crate) fn watch_this_thread() {
    SEEN.set(Some(0));
}

/// From now on handlers are not timed any more, but signals counted.
pub(crate) fn keep_no_more_times() {
    KEEPS_TIMES.store(false, Ordering::SeqCst);
}

/// How many signals the calling thread got since it is watched.
#[inline]
pub(crate) fn seen() -> u32 {
    SEEN.get().unwrap_or(0)
}

/// How long a signal takes that a thread sends to itself and whose handler does
/// nothing: the median of `count`, in nanoseconds.
pub(crate) fn empty_delivery(count: usize) -> io::Result<f64> {
    extern "C" fn nothing(_: libc::c_int) {}

    // SAFETY: all zeroes is a valid action, with an empty mask.
    let mut empty: libc::sigaction = unsafe { std::mem::zeroed() };
    empty.sa_sigaction = nothing as *const () as usize;
    let before = action(Some(&empty))?;
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let start = nanos();
            // SAFETY: the signal has a handler.
            unsafe { libc::raise(libc::SIGPROF) };
            (nanos() - start) as f64
        })
        .collect();
    action(Some(&before))?;
    Ok(quantile(&mut times, 0.5))
}

/// The beginning of a `siginfo_t`, as a timer fills it.
#[repr(C)]
struct TimerInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    timer: libc::c_int,
}

extern "C" fn on_signal(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let address = HANDLER.load(Ordering::Relaxed);
    let start = nanos();
    // SAFETY: the address is that of a handler that was installed with
    // SA_SIGINFO, and it gets what the kernel would have passed to it.
    unsafe {
        let handler: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            std::mem::transmute(address);
        handler(number, info, context);
    }
    let time = nanos() - start;
    if let Some(seen) = SEEN.get() {
        SEEN.set(Some(seen + 1));
        if !KEEPS_TIMES.load(Ordering::Relaxed) {
            return;
        }
        let place = COUNT.fetch_add(1, Ordering::Relaxed);
        if let (Some(of_time), Some(of_timer)) = (TIMES.get(place), TIMERS.get(place)) {
            of_time.store(u32::try_from(time).unwrap_or(u32::MAX), Ordering::Relaxed);
            // SAFETY: the kernel passes a siginfo_t, of which this is a prefix.
            let info = unsafe { &*info.cast::<TimerInfo>() };
            let timer = if info.code == libc::SI_TIMER {
                info.timer
            } else {
                NO_TIMER
            };
            of_timer.store(timer, Ordering::Relaxed);
        }
    }
}

fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `new` is null or an action whose handler is fit for a signal; the
    // old one goes to a place that is ours.
    if unsafe { libc::sigaction(libc::SIGPROF, new, old.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was zeroed, and then written.
    Ok(unsafe { old.assume_init() })
}
