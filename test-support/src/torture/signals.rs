//! Somebody else who uses `SIGPROF`.

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tachograph_core::ErrorKind;

use super::{End, Figures, Subject, Tally};
use crate::{burn, finish, process_cpu};

/// Signals that reached the other user's handler.
static THEIRS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    THEIRS.fetch_add(1, Ordering::Relaxed);
}

/// The period of the other user's timer.
const PERIOD: Duration = Duration::from_millis(10);

/// The action of `SIGPROF` before this call, which installs `handler` if one is
/// given.
fn handler(new: Option<libc::sighandler_t>) -> libc::sighandler_t {
    // SAFETY: all zeroes is a valid action; the handlers given add to an atomic, or
    // are none. The calls write to a place that is ours.
    unsafe {
        let mut old: libc::sigaction = mem::zeroed();
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = new.unwrap_or(libc::SIG_DFL);
        action.sa_flags = libc::SA_RESTART;
        let given = new.map_or(ptr::null(), |_| &raw const action);
        assert_eq!(libc::sigaction(libc::SIGPROF, given, &raw mut old), 0);
        old.sa_sigaction
    }
}

/// The other user's interval timer; off when dropped.
struct Timer;

impl Timer {
    fn start() -> Self {
        Self::set(PERIOD);
        Self
    }

    fn set(period: Duration) {
        let period = libc::timeval {
            tv_sec: 0,
            tv_usec: period.subsec_micros().into(),
        };
        let timer = libc::itimerval {
            it_interval: period,
            it_value: period,
        };
        // SAFETY: the timer lives through the call, and its signal is handled.
        unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, ptr::null_mut()) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        Self::set(Duration::ZERO);
    }
}

/// Whether a signal reaches the other user's handler.
fn is_theirs() -> bool {
    let before = THEIRS.load(Ordering::Relaxed);
    // SAFETY: the signal is handled.
    unsafe { libc::raise(libc::SIGPROF) };
    THEIRS.load(Ordering::Relaxed) > before
}

/// Somebody else has a handler, and a timer of 100 Hz on the CPU time of the process.
/// Either the sampler works beside, and every signal that is theirs arrives
/// during captures and after them. Or it does not start while the handler is there,
/// which goes on working; and one that is installed during a capture is there
/// after it.
pub fn another_user_of_the_signal(subject: Subject<'_>, time: Duration) -> Figures {
    let end = End::after(time);
    let (start, before) = (Instant::now(), process_cpu());
    let tally = Tally::default();
    let mut figures = Figures::default();
    let ours = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
    if subject.shares_the_signal {
        handler(Some(ours));
    }
    while !end.is_due() {
        if subject.shares_the_signal {
            beside(subject, &tally, &mut figures);
        } else {
            instead(subject, ours, &tally, &mut figures);
        }
    }
    figures.took = start.elapsed();
    figures.cpu = process_cpu() - before;
    figures.results = tally.into_results();
    figures
}

fn beside(subject: Subject<'_>, tally: &Tally, figures: &mut Figures) {
    let session = subject.start();
    let timer = Timer::start();
    let (before, cpu) = (THEIRS.load(Ordering::Relaxed), process_cpu());
    burn(Duration::from_millis(500));
    let used = process_cpu() - cpu;
    let theirs = THEIRS.load(Ordering::Relaxed) - before;
    drop(timer);
    let (profile, truth) = finish(session);
    figures.add(profile, &truth);
    // The kernel rounds their period up to its ticks, and merges what is late.
    let expected = used.as_secs_f64() / PERIOD.as_secs_f64();
    tally.count((0.4..=1.3).contains(&(theirs as f64 / expected)));
    tally.count(is_theirs());
}

fn instead(subject: Subject<'_>, ours: libc::sighandler_t, tally: &Tally, figures: &mut Figures) {
    handler(Some(ours));
    let timer = Timer::start();
    let refused = subject.sampler.start(1).err();
    tally.count(refused.is_some_and(|error| error.kind() == ErrorKind::Busy));
    let before = THEIRS.load(Ordering::Relaxed);
    burn(Duration::from_millis(100));
    tally.count(THEIRS.load(Ordering::Relaxed) > before);
    drop(timer);
    tally.count(handler(Some(libc::SIG_IGN)) == ours);

    let session = subject.start();
    burn(Duration::from_millis(200));
    handler(Some(ours));
    burn(Duration::from_millis(20));
    let (profile, truth) = finish(session);
    figures.add(profile, &truth);
    tally.count(handler(None) == ours && is_theirs());
}
