//! Which threads there are, and their timers.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_core::TimeSource;

use super::capture::Capture;
use super::cookie::{Cookie, Source};
use super::random::Random;
use super::table::THREADS_MAX;
use super::tasks::{self, Tasks};
use super::ticker::Ticker;
use super::timer::clock_of;
use super::{kernel, registry, signal};

/// How long a thread must have been known for a timer of its own, where the
/// process's timer samples it until then. A shorter life is better told by that
/// one: what a thread does between its own timer's expiry and the kernel's next
/// tick is lost when it ends.
const AGE_MIN: Duration = Duration::from_millis(50);

/// How much CPU time a thread may have used when it is met first to be held
/// back for its age, in nanoseconds.
const YOUNG_CPU_MAX: u64 = 30_000_000;

/// How much CPU time a thread may plausibly use between two of the kernel's
/// ticks. Beyond it samples are missing for another reason.
pub(crate) const TICK_MAX: Duration = Duration::from_millis(50);

/// The longest time between two looks.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The shortest time between two looks, for threads that registered themselves.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// A look at the threads may take this part of one CPU, at most.
const COST_DIVISOR: u32 = 1000;

/// An armed thread.
#[derive(Debug)]
struct Armed {
    index: u16,
    ticker: Ticker,
    /// The thread's CPU time, in nanoseconds, at which its first sample was
    /// due.
    first_due: u64,
    is_blocking: bool,
}

impl Armed {
    /// The CPU time that `thread`, which is this one, used since its first
    /// sample was due, in nanoseconds; none if it was not yet.
    fn since_due(&self, thread: i32) -> Option<u64> {
        kernel::clock_nanos(clock_of(thread)).checked_sub(self.first_due)
    }
}

/// How many samples an armed thread should have by its CPU clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) thread: i32,
    pub(crate) index: u16,
    pub(crate) samples: u64,
}

/// The threads of a capture.
#[derive(Debug)]
pub(crate) struct Threads {
    capture: Arc<Capture>,
    source: TimeSource,
    /// Whether the process's timer samples the threads that are not armed.
    has_process_timer: bool,
    random: Random,
    armed: HashMap<i32, Armed>,
    /// Events that have stopped, whose descriptors a handler may still use.
    stopped: Vec<Ticker>,
    /// Those that are not armed, and since when they are known.
    young: HashMap<i32, Instant>,
    /// Those that the system refused a timer.
    unarmed: HashSet<i32>,
    /// Places in the table that were used and are free again.
    free: Vec<u16>,
    used: u16,
    next_look: Instant,
    last_look: Instant,
    has_newcomer: bool,
    pause: Duration,
    /// The pause that what a look costs asks for.
    cost_pause: Duration,
    tasks: Tasks,
    count: u64,
    pub(crate) seen: u64,
    pub(crate) blocking: u64,
    pub(crate) refused: u64,
}

impl Threads {
    pub(crate) fn new(capture: Arc<Capture>, source: TimeSource, has_process_timer: bool) -> Self {
        Self {
            capture,
            source,
            has_process_timer,
            random: Random::new(),
            armed: HashMap::new(),
            stopped: Vec::new(),
            young: HashMap::new(),
            unarmed: HashSet::new(),
            free: Vec::new(),
            used: 0,
            next_look: Instant::now(),
            last_look: Instant::now(),
            has_newcomer: false,
            pause: AGE_MIN,
            cost_pause: Duration::ZERO,
            tasks: Tasks::open(),
            count: 0,
            seen: 0,
            blocking: 0,
            refused: 0,
        }
    }

    /// Arms a thread that was there when the capture began.
    pub(crate) fn arm_first(&mut self, thread: i32) -> io::Result<()> {
        self.seen += 1;
        self.arm(thread)
    }

    /// Whether any thread is armed.
    pub(crate) fn has_armed(&self) -> bool {
        !self.armed.is_empty()
    }

    /// Arms the calling thread.
    pub(crate) fn arm_this(&mut self) {
        // Counted, if it was refused.
        drop(self.arm_first(kernel::thread_id()));
        self.count = self.tasks.count();
    }

    /// Looks for new threads and for those that ended, unless that would come
    /// too soon after the last time. `unarmed_seen` says that a thread without
    /// a timer was sampled, `has_newcomer` that one has registered itself.
    pub(crate) fn look(&mut self, unarmed_seen: bool, has_newcomer: bool) {
        let now = Instant::now();
        self.has_newcomer |= has_newcomer;
        if self.has_newcomer {
            let soon = self.last_look + PAUSE_MIN.max(self.cost_pause);
            self.next_look = self.next_look.min(soon);
        }
        // The process's timer meets new threads by itself, as soon as they count.
        let count = if self.has_process_timer {
            self.count
        } else {
            self.tasks.count()
        };
        let changed = unarmed_seen || count != self.count || !self.young.is_empty();
        if changed {
            self.pause = AGE_MIN;
        }
        if now < self.next_look {
            // Not to be put off by the calm before it.
            self.next_look = self.next_look.min(now + self.pause.max(self.cost_pause));
            return;
        }
        let before = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        self.count = count;
        self.has_newcomer = false;
        self.last_look = now;
        // If it fails, the threads known so far go on.
        if let Ok(threads) = tasks::list() {
            self.compare(&threads, now);
            self.find_blocking();
        }
        let cost = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(before);
        self.cost_pause = Duration::from_nanos(cost) * COST_DIVISOR;
        self.next_look = now + self.pause.max(self.cost_pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    /// Stops every timer and event, for good, and says how many samples were due
    /// by then in each thread with a timer. In the table threads stay armed: a
    /// signal that is on its way still counts.
    pub(crate) fn stop(&mut self) -> Vec<Due> {
        self.find_blocking();
        let period = nanos(self.capture.period).max(1);
        let mut all_due = Vec::new();
        for (thread, armed) in self.armed.drain() {
            if let Ticker::Event(event) = &armed.ticker {
                // It waits for no tick of the kernel: what is missing is what
                // it does not see.
                event.stop();
                self.stopped.push(armed.ticker);
                continue;
            }
            let since = armed.since_due(thread);
            all_due.push(Due {
                thread,
                index: armed.index,
                samples: since.map_or(0, |since| 1 + since / period),
            });
        }
        all_due
    }

    /// Finds the threads whose samples do not come since they block the signal.
    /// To ask is dear, so only those are asked that miss samples.
    fn find_blocking(&mut self) {
        let period = nanos(self.capture.period);
        for (thread, armed) in &mut self.armed {
            let entry = self.capture.table.get(armed.index);
            let counted = entry
                .map_or(0, |entry| entry.counted())
                .saturating_mul(period);
            let since = armed.since_due(*thread).unwrap_or(0);
            let missing = since.saturating_sub(counted);
            if missing > nanos(TICK_MAX).max(2 * period)
                && !armed.is_blocking
                && signal::is_blocked_in(*thread).unwrap_or(false)
            {
                armed.is_blocking = true;
                self.blocking += 1;
            }
        }
    }

    fn compare(&mut self, threads: &[i32], now: Instant) {
        // A thread that is not listed may live: the kernel stops listing when the
        // thread it has come to ends just then.
        let listed: HashSet<i32> = threads.iter().copied().collect();
        let lives = |thread: &i32| listed.contains(thread) || kernel::is_alive(*thread);
        self.young.retain(|thread, _| lives(thread));
        self.unarmed.retain(lives);
        // A timer outlives its thread, whose id may be another's by now.
        let over: Vec<i32> = self
            .armed
            .iter()
            .filter(|(_, armed)| armed.ticker.is_over())
            .map(|(thread, _)| *thread)
            .collect();
        for thread in over {
            if let Some(armed) = self.armed.remove(&thread) {
                self.capture.table.disarm(armed.index);
                self.free.push(armed.index);
            }
        }
        for thread in threads {
            if self.armed.contains_key(thread) {
                continue;
            }
            let is_new = !self.young.contains_key(thread) && !self.unarmed.contains(thread);
            if is_new {
                self.seen += 1;
                if self.has_process_timer && kernel::clock_nanos(clock_of(*thread)) <= YOUNG_CPU_MAX
                {
                    self.young.insert(*thread, now);
                }
            }
            let is_old = self
                .young
                .get(thread)
                .is_none_or(|since| now.duration_since(*since) >= AGE_MIN);
            // One that registered itself is there to stay.
            if is_old || registry::find(*thread).is_some() {
                self.young.remove(thread);
                // Counted, if it was refused.
                drop(self.arm(*thread));
            }
        }
    }

    fn arm(&mut self, thread: i32) -> io::Result<()> {
        match self.try_arm(thread) {
            Ok(()) => {
                if self.unarmed.remove(&thread) {
                    self.refused -= 1;
                }
                Ok(())
            }
            // It has ended meanwhile.
            Err(_) if !kernel::is_alive(thread) => Ok(()),
            Err(error) => {
                // Counted once, however often it is tried again.
                if self.unarmed.insert(thread) {
                    self.refused += 1;
                }
                Err(error)
            }
        }
    }

    fn try_arm(&mut self, thread: i32) -> io::Result<()> {
        let index = match self.free.last() {
            Some(index) => *index,
            None if usize::from(self.used) < THREADS_MAX => self.used,
            None => return Err(io::Error::from(io::ErrorKind::QuotaExceeded)),
        };
        let table = &self.capture.table;
        let generation = table.prepare(index);
        let cookie = Cookie {
            capture: self.capture.number,
            source: Source::Thread { index, generation },
        };
        let period = self.capture.period;
        let first = self.random.within(period);
        let ticker = Ticker::on_thread(self.source, thread, cookie, first)?;
        // Before the first signal can come.
        table.arm(index, thread, ticker.descriptor());
        let cpu = kernel::clock_nanos(clock_of(thread));
        if let Err(error) = ticker.start(first, period) {
            table.disarm(index);
            return Err(error);
        }
        if self.free.pop().is_none() {
            self.used += 1;
        }
        let armed = Armed {
            index,
            ticker,
            first_due: cpu + nanos(first),
            is_blocking: false,
        };
        self.armed.insert(thread, armed);
        Ok(())
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_come_and_go() {
        // A period that never ends.
        let period = Duration::from_secs(1 << 20);
        let capture = Arc::new(Capture::new(1, 0, period).expect("memory"));
        let mut threads = Threads::new(Arc::clone(&capture), TimeSource::ThreadTimers, true);
        let own = kernel::thread_id();
        threads.arm_this();
        assert!(capture.table.is_armed(own));

        let (started, start) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            started.send(kernel::thread_id()).expect("it is awaited");
            let _ = ended.recv();
        });
        let other_id = start.recv().expect("it starts");
        let now = Instant::now();
        threads.compare(&[own, other_id], now);
        assert!(!capture.table.is_armed(other_id), "too young");
        threads.compare(&[own, other_id], now + AGE_MIN);
        assert!(capture.table.is_armed(other_id));
        let index = threads.armed[&other_id].index;

        // The kernel lists less than there is while some thread ends.
        threads.compare(&[own], now + AGE_MIN);
        assert!(capture.table.is_armed(other_id), "it lives");
        assert!(threads.free.is_empty(), "it was armed anew");

        // Its id is listed still, but it is not that thread's any more.
        drop(end);
        other.join().expect("it ends");
        while !threads.armed[&other_id].ticker.is_over() {
            std::thread::yield_now();
        }
        threads.compare(&[own, other_id], now + 2 * AGE_MIN);
        assert!(!capture.table.is_armed(other_id));
        assert_eq!(threads.free, [index]);

        threads.compare(&[own], now + 3 * AGE_MIN);
        assert!(threads.young.is_empty());
        assert!(capture.table.is_armed(own));
        assert!(threads.stop().iter().all(|due| due.samples == 0));
    }

    #[test]
    fn what_is_due_is_cpu_time_by_the_period() {
        // So short that the signals, which find no capture, all come at once.
        let period = Duration::from_micros(10);
        let capture = Arc::new(Capture::new(1, 0, period).expect("memory"));
        signal::install().expect("a handler");
        let mut threads = Threads::new(capture, TimeSource::ThreadTimers, true);
        threads.arm_this();
        let before = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        while kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID) - before < 20_000_000 {}
        let due = threads.stop();
        let cpu = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID) - before;
        assert_eq!(due.len(), 1);
        assert!(due[0].samples >= 1999, "{due:?}");
        assert!(due[0].samples <= cpu / 10_000 + 1_000, "{due:?} of {cpu}");
    }
}
