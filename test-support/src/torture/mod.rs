//! A host at its worst, under a capture at the sampler's highest rate: the same
//! scenarios for every sampler.
//!
//! A scenario goes on for a time of its caller's choosing, as long by the clock
//! as by the CPU time of the process, so that a slow machine is tried no less. It
//! counts results that came out wrong. Crashes and hangs are for the caller to
//! see, who runs each in a process of its own.

mod blocking;
mod busy;
mod children;
mod libraries;
mod recursion;
mod signals;
mod starts;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tachograph_core::{Sampler, Session, Truth};
use tachograph_profile::Profile;

use crate::{finish, process_cpu};

pub use blocking::blocking_calls;
pub use busy::{allocations, mappings, panics, threads};
pub use children::children;
pub use libraries::libraries;
pub use recursion::recursion;
pub use signals::another_user_of_the_signal;
pub use starts::starts_and_stops;

/// A sampler and what its documentation says of the host.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The sampler.
    pub sampler: &'a dyn Sampler,
    /// How many bytes of its stack a thread must leave, so that a sample of it
    /// does not overflow it.
    pub stack_bytes_left: usize,
    /// Whether it samples beside another user of `SIGPROF`. If not, it does not
    /// start.
    pub shares_the_signal: bool,
}

impl<'a> Subject<'a> {
    /// `tachograph-sampler-linux`: its handler runs on the alternate stack, and
    /// passes signals on.
    pub fn linux(sampler: &'a dyn Sampler) -> Self {
        Self {
            sampler,
            stack_bytes_left: 2_500,
            shares_the_signal: true,
        }
    }

    /// `tachograph-sampler-pprof`: its handler runs on the stack of whom it
    /// interrupts, and keeps signals to itself.
    pub fn pprof(sampler: &'a dyn Sampler) -> Self {
        Self {
            sampler,
            stack_bytes_left: 64 << 10,
            shares_the_signal: false,
        }
    }

    fn start(&self) -> Box<dyn Session> {
        let highest = self.sampler.info().frequency_hz_max;
        self.sampler.start(highest).expect("nobody else samples")
    }

    /// Samples `work`, which takes at least `time` and says what it saw.
    fn sample(&self, work: impl FnOnce() -> Results) -> Figures {
        let session = self.start();
        let (start, before) = (Instant::now(), process_cpu());
        let results = work();
        let (took, cpu) = (start.elapsed(), process_cpu() - before);
        session.check().expect("it runs");
        let (profile, truth) = finish(session);
        let mut figures = Figures {
            took,
            cpu,
            results,
            ..Figures::default()
        };
        figures.add(profile, &truth);
        figures
    }
}

/// What was done, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// What came out right.
    pub right: u64,
    /// What did not.
    pub wrong: u64,
    /// Calls that failed with `EINTR` where the documentation of the sampler says
    /// that they may.
    pub interrupted: u64,
}

/// Results, counted by many threads.
#[derive(Debug, Default)]
struct Tally {
    right: AtomicU64,
    wrong: AtomicU64,
    interrupted: AtomicU64,
}

impl Tally {
    fn count(&self, is_right: bool) {
        let count = if is_right { &self.right } else { &self.wrong };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn count_interrupted(&self) {
        self.interrupted.fetch_add(1, Ordering::Relaxed);
    }

    fn into_results(self) -> Results {
        Results {
            right: self.right.into_inner(),
            wrong: self.wrong.into_inner(),
            interrupted: self.interrupted.into_inner(),
        }
    }
}

/// The end of a scenario that is to last for some time.
#[derive(Clone, Copy)]
struct End {
    clock: Instant,
    cpu: Duration,
}

impl End {
    fn after(time: Duration) -> Self {
        Self {
            clock: Instant::now() + time,
            cpu: process_cpu() + time,
        }
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.clock && process_cpu() >= self.cpu
    }
}

/// Lets `count` threads work for `time`, each again and again; `work` says
/// whether its result was right.
fn on_threads(count: usize, time: Duration, work: impl Fn() -> bool + Sync) -> Results {
    let end = End::after(time);
    let tally = Tally::default();
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while !end.is_due() {
                    tally.count(work());
                }
            });
        }
    });
    tally.into_results()
}

/// What came of a scenario.
#[derive(Debug, Default)]
pub struct Figures {
    /// For how long it went on.
    pub took: Duration,
    /// The CPU time that the process used meanwhile.
    pub cpu: Duration,
    /// What it did.
    pub results: Results,
    /// The sum of `samples/count` in all profiles.
    pub samples: u64,
    /// Samples known to be missing.
    pub lost: u64,
    /// The last profile.
    pub profile: Option<Profile>,
}

impl Figures {
    fn add(&mut self, profile: Profile, truth: &Truth) {
        self.samples += truth.samples;
        self.lost += truth.lost;
        self.profile = Some(profile);
    }

    /// Samples over what the CPU time is worth at `frequency_hz`.
    pub fn share(&self, frequency_hz: u32) -> f64 {
        self.samples as f64 / (self.cpu.as_secs_f64() * f64::from(frequency_hz))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Results {
            right,
            wrong,
            interrupted,
        } = self.results;
        write!(
            f,
            "{:.1} s, {} samples, {} lost, {wrong} wrong results, {right} right, {interrupted} interrupted",
            self.took.as_secs_f64(),
            self.samples,
            self.lost,
        )
    }
}

/// A scenario by its name.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its name: that of its function.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Subject<'_>, Duration) -> Figures,
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        &[$(Scenario {
            name: stringify!($name),
            run: $name,
        }),*]
    };
}

/// All of them.
pub static SCENARIOS: &[Scenario] = scenarios![
    panics,
    libraries,
    allocations,
    threads,
    children,
    recursion,
    mappings,
    blocking_calls,
    starts_and_stops,
    another_user_of_the_signal,
];
