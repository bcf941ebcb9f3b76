//! The thread that a capture has: it empties the ring, walks the stacks, and
//! keeps the threads armed.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tachograph_core::labels::Label;
use tachograph_core::{Error, ErrorKind, TimeSource};

use super::capture::{Active, Capture};
use super::cookie::{Cookie, Source};
use super::coverage::Coverage;
use super::modules::Modules;
use super::random::Random;
use super::ring::{Copied, Header};
use super::stacks::Stacks;
use super::threads::{Due, TICK_MAX, Threads};
use super::timer::Timer;
use super::tree::{Full, Key, Tree};
use super::unwind::{End, Walker};
use super::{kernel, registry, signal, tasks};

/// How long samples wait in the ring, unless it is half full before.
const PAUSE: Duration = Duration::from_millis(50);

/// How often to look whether the signal is still ours.
const SIGNAL_CHECK: Duration = Duration::from_secs(1);

/// A look at what is loaded may take this part of one CPU, at most.
const MODULES_COST_DIVISOR: u32 = 50;

/// A look at which stacks there are may take this part of one CPU, at most.
const STACKS_COST_DIVISOR: u32 = 500;

/// How often to try to find out what a thread's stack is. A thread that is
/// never met on its own stack runs coroutines.
const STACK_TRIES: u32 = 4;

/// A capture that runs. Dropping it ends it: first the right of handlers to its
/// memory and descriptors, then the timers and events.
pub(crate) struct Drain {
    active: Option<Active>,
    threads: Threads,
    process_timer: Option<Timer>,
    capture: Arc<Capture>,
    modules: Modules,
    walker: Walker,
    tree: Tree,
    coverage: Coverage,
    cpu_at_start: u64,
    next_refresh: Instant,
    next_stacks: Instant,
    next_signal_check: Instant,
    stack_tries: HashMap<i32, u32>,
    carry_max: u64,
    /// The latest sample of each armed thread, by its place.
    latest: HashMap<u16, (i32, Key)>,
}

/// What a capture has when it is over.
pub(crate) struct Harvest {
    pub(crate) modules: Modules,
    pub(crate) tree: Tree,
    pub(crate) coverage: Coverage,
}

impl Drain {
    /// Starts sampling.
    pub(crate) fn start(capture: Arc<Capture>) -> Result<Self, Error> {
        let modules = Modules::new().map_err(|error| {
            Error::new(ErrorKind::Sampling, "cannot tell what is loaded").with_source(error)
        })?;
        let now = Instant::now();
        let period = capture.period;
        let active = Active::new(Arc::clone(&capture));
        // The process's timer first: it is there for the threads that may be
        // refused one.
        let process_timer = start_process_timer(&capture);
        let source = TimeSource::ThreadTimers;
        let has_process_timer = process_timer.is_some();
        let mut drain = Self {
            active: Some(active),
            threads: Threads::new(Arc::clone(&capture), source, has_process_timer),
            process_timer,
            modules,
            walker: Walker::new(),
            tree: Tree::new(),
            coverage: Coverage {
                has_process_timer,
                ..Coverage::default()
            },
            cpu_at_start: kernel::clock_nanos(libc::CLOCK_PROCESS_CPUTIME_ID),
            next_refresh: now,
            next_stacks: now,
            next_signal_check: now + SIGNAL_CHECK,
            stack_tries: HashMap::new(),
            carry_max: u64::try_from(TICK_MAX.as_nanos() / period.as_nanos().max(1))
                .map_or(1, |samples| samples.max(1)),
            latest: HashMap::new(),
            capture,
        };
        match drain.arm_all() {
            Err(refusal) if !has_process_timer => drain.arm_with_events(&refusal)?,
            // Those that were refused one fall to the process's timer.
            _ => {}
        }
        Ok(drain)
    }

    /// Arms every thread with events, now that timers were refused.
    fn arm_with_events(&mut self, of_timers: &io::Error) -> Result<(), Error> {
        self.coverage.time_source = TimeSource::PerfEvents;
        self.threads = Threads::new(Arc::clone(&self.capture), TimeSource::PerfEvents, false);
        self.arm_all().map_err(|of_events| {
            Error::new(
                ErrorKind::Sampling,
                "the system refuses both timers on CPU clocks and perf events: allow \
                 timer_create, or perf_event_open and a kernel.perf_event_paranoid of at most 2",
            )
            .with_source(io::Error::other(format!(
                "timer_create: {of_timers}; perf_event_open: {of_events}"
            )))
        })
    }

    /// Arms every thread. Those that are armed fill the ring meanwhile, which
    /// can take a while on a busy machine.
    fn arm_all(&mut self) -> io::Result<()> {
        let threads = tasks::list()?;
        let mut refused = Ok(());
        for thread in threads {
            if let Err(error) = self.threads.arm_first(thread) {
                refused = Err(error);
            }
            self.empty_ring();
        }
        if self.threads.has_armed() {
            Ok(())
        } else {
            refused
        }
    }

    /// Runs until the capture is asked to stop.
    pub(crate) fn run(mut self) -> Harvest {
        signal::take_no_others_signals();
        self.threads.arm_this();
        while !self.capture.stop.load(Ordering::Acquire) {
            self.capture.await_bell(PAUSE);
            let unarmed_seen = self.empty_ring();
            self.threads
                .look(unarmed_seen, self.capture.take_newcomer());
            self.check_signal();
        }
        self.finish()
    }

    fn finish(mut self) -> Harvest {
        let due = self.threads.stop();
        self.process_timer = None;
        let cpu = kernel::clock_nanos(libc::CLOCK_PROCESS_CPUTIME_ID);
        self.check_signal();
        self.active = None;
        self.empty_ring();
        self.carry(&due);

        let lost = &self.capture.lost;
        let mut coverage = self.coverage;
        coverage.lost_ring_full = lost.ring_full.load(Ordering::Relaxed);
        coverage.lost_late = lost.late.load(Ordering::Relaxed);
        coverage.threads_seen = self.threads.seen;
        coverage.threads_blocking = self.threads.blocking;
        coverage.threads_refused = self.threads.refused;
        coverage.threads_without_label = registry::refused() as u64;
        coverage.cpu_used = Duration::from_nanos(cpu.saturating_sub(self.cpu_at_start));
        let own = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        coverage.cpu_drain = Duration::from_nanos(own);
        Harvest {
            modules: self.modules,
            tree: self.tree,
            coverage,
        }
    }

    /// Walks the stacks in the ring, but no more than it can hold at once, since
    /// handlers may be as fast as this; says whether one was of a thread
    /// without a timer.
    fn empty_ring(&mut self) -> bool {
        let capture = Arc::clone(&self.capture);
        let mut unarmed_seen = false;
        let mut unknown_stacks = Vec::new();
        for number in 0..capture.ring.count() {
            let Some(taken) = capture.ring.take() else {
                break;
            };
            if number == 0 {
                self.refresh_modules();
            }
            let header = taken.header();
            unarmed_seen |= header.thread.is_none();
            if header.copied != Copied::Plain && self.is_stack_wanted(header) {
                unknown_stacks.push(*header);
            }
            self.count(header, taken.stack());
        }
        if !unknown_stacks.is_empty() {
            let cost = cpu_cost(|| self.learn_stacks(&unknown_stacks));
            self.next_stacks = Instant::now() + cost * STACKS_COST_DIVISOR;
        }
        unarmed_seen
    }

    fn count(&mut self, header: &Header, stack: &[u8]) {
        let room = self.capture.ring.stack_bytes();
        let (frames, end) = self.walker.walk(&self.modules, header, stack, room);
        let name = header.thread_name;
        let weight = header.weight;
        let Ok(key) = self.tree.add(frames, header.label, name, weight) else {
            self.coverage.lost_memory += weight;
            return;
        };
        let coverage = &mut self.coverage;
        coverage.kept += weight;
        if header.label == Label::NONE {
            coverage.unlabelled += weight;
        }
        match end {
            _ if header.copied == Copied::Nothing => coverage.without_stack += weight,
            End::Root => {}
            End::Cut => coverage.cut += weight,
            End::Broken => coverage.broken += weight,
        }
        match header.thread {
            None => coverage.by_process_timer += weight,
            Some(index) => {
                self.latest.insert(index, (header.thread_id, key));
            }
        }
    }

    /// Counts what is due in threads that the kernel has not looked at since.
    ///
    /// It looks when its tick finds the thread running, so for threads that run
    /// for moments at a time that can be a while. Every sample stands for the
    /// CPU time since the one before; what comes after the last one belongs to
    /// that as well as to any other that can be had. Where there is none, the
    /// stack is empty.
    fn carry(&mut self, due: &[Due]) {
        for due in due {
            let counted = self
                .capture
                .table
                .get(due.index)
                .map_or(0, |it| it.counted());
            let owed = due.samples.saturating_sub(counted).min(self.carry_max);
            if owed == 0 {
                continue;
            }
            let latest = match self.latest.get(&due.index) {
                Some((thread, key)) if *thread == due.thread => *key,
                _ => Key::without_stack(tasks::name(due.thread)),
            };
            let coverage = &mut self.coverage;
            if self.tree.add_again(latest, owed) == Err(Full) {
                coverage.lost_memory += owed;
                continue;
            }
            coverage.kept += owed;
            coverage.carried += owed;
            if latest.label() == Label::NONE {
                coverage.unlabelled += owed;
            }
            if latest.is_without_stack() {
                coverage.without_stack += owed;
            }
        }
    }

    fn refresh_modules(&mut self) {
        let now = Instant::now();
        if now < self.next_refresh || !self.modules.have_changed() {
            return;
        }
        let cost = cpu_cost(|| self.modules.refresh());
        self.next_refresh = now + cost * MODULES_COST_DIVISOR;
    }

    /// Whether it is worth finding out what the stack of the sample's thread is.
    fn is_stack_wanted(&mut self, header: &Header) -> bool {
        let entry = header
            .thread
            .and_then(|index| self.capture.table.get(index));
        let is_unknown =
            entry.is_some_and(|entry| entry.is_of(header.thread_id) && !entry.has_stack());
        if !is_unknown || Instant::now() < self.next_stacks {
            return false;
        }
        let tries = self.stack_tries.entry(header.thread_id).or_default();
        *tries += 1;
        *tries <= STACK_TRIES
    }

    fn learn_stacks(&mut self, samples: &[Header]) {
        let Ok(stacks) = Stacks::now() else {
            return;
        };
        for header in samples {
            let entry = header
                .thread
                .and_then(|index| self.capture.table.get(index));
            let is_main = header.thread_id == self.capture.process;
            let stack = stacks.of_thread(header.registers.stack, header.thread_pointer, is_main);
            if let (Some(entry), Some(stack)) = (entry, stack) {
                entry.set_stack(stack.start, stack.end);
                self.stack_tries.remove(&header.thread_id);
            }
        }
    }

    fn check_signal(&mut self) {
        let now = Instant::now();
        if now >= self.next_signal_check || self.capture.stop.load(Ordering::Acquire) {
            self.next_signal_check = now + SIGNAL_CHECK;
            self.coverage.was_displaced |= !signal::is_installed();
        }
    }
}

/// Older kernels signal the first thread instead of the one that was running,
/// which would tell nothing and disturb it.
fn start_process_timer(capture: &Capture) -> Option<Timer> {
    if !kernel::is_at_least(6, 4) {
        return None;
    }
    let timer = Timer::on_process(Cookie {
        capture: capture.number,
        source: Source::Process,
    })
    .ok()?;
    let first = Random::new().within(capture.period);
    timer.start(first, capture.period).ok()?;
    Some(timer)
}

/// The CPU time that `work` takes this thread.
fn cpu_cost(work: impl FnOnce()) -> Duration {
    let before = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
    work();
    let after = kernel::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
    Duration::from_nanos(after.saturating_sub(before))
}
