//! Many histories, and what came out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tachograph_core::{End, ErrorKind};

use crate::{History, Record, Violation, generate, judge, play, regressions, shrink};

/// What came out of many histories.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many were played.
    pub histories: u64,
    /// How often it happened, by what: tests that pass without having run are
    /// worth nothing.
    pub counts: BTreeMap<&'static str, u64>,
    /// Those that broke something.
    pub failures: Vec<Failure>,
}

/// A history that broke something.
#[derive(Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What it broke.
    pub violation: Violation,
    /// What became of it, if it was the first to break this.
    pub kept: Option<Result<PathBuf, String>>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.violation)?;
        match &self.kept {
            None => Ok(()),
            Some(Ok(path)) => write!(f, "; made short and kept in {}", path.display()),
            Some(Err(error)) => write!(f, "; made short, and not kept: {error}"),
        }
    }
}

/// After so many no further history is played.
const FAILURES_MAX: usize = 10;

/// Plays the histories of all `seeds` on as many threads as there are
/// processors. Of those that fail, the first for each invariant is made short and
/// kept.
pub fn run(seeds: Range<u64>) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let tally = Mutex::new(Tally::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let Ok((record, violation)) =
                        std::panic::catch_unwind(|| violation(&generate(seed)))
                    else {
                        panic!("seed {seed} panicked, as told above");
                    };
                    let counts = count(&record);
                    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    tally.add(seed, counts, violation);
                    if tally.failures.len() >= FAILURES_MAX {
                        break;
                    }
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by_key(|failure| failure.seed);
    let mut known = BTreeSet::new();
    for failure in &mut tally.failures {
        if known.insert(failure.violation.invariant) {
            failure.kept = Some(failure.keep());
        }
    }
    tally
}

impl Failure {
    fn keep(&self) -> Result<PathBuf, String> {
        let still_fails = |shorter: &History| {
            let violation = violation(shorter).1;
            violation.is_some_and(|it| it.invariant == self.violation.invariant)
        };
        let short = shrink(&generate(self.seed), still_fails);
        regressions::keep(self.seed, &self.violation, &short).map_err(|error| error.to_string())
    }
}

fn violation(history: &History) -> (Record, Option<Violation>) {
    match play(history, None) {
        Ok(record) => {
            let violation = judge(history, &record).into_iter().next();
            (record, violation)
        }
        // No generated history has a policy that is none, so nor has a shorter
        // one.
        Err(error) => unreachable!("{error:#}"),
    }
}

impl Tally {
    fn add(
        &mut self,
        seed: u64,
        counts: BTreeMap<&'static str, u64>,
        violation: Option<Violation>,
    ) {
        self.histories += 1;
        for (what, times) in counts {
            *self.counts.entry(what).or_default() += times;
        }
        self.failures.extend(violation.map(|violation| Failure {
            seed,
            violation,
            kept: None,
        }));
    }

    /// How often `what` happened.
    pub fn count(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }
}

/// What happened in one history.
fn count(record: &Record) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    let mut add = |what, times| *counts.entry(what).or_default() += times;
    for refused in &record.refused {
        match refused.error {
            None => add("starts after the window", 1),
            Some(ErrorKind::InUse) => add("second recorders", 1),
            Some(_) => add("windows too long", 1),
        }
    }
    for life in &record.lives {
        add("recorders", 1);
        for attempt in &life.seen.attempts {
            add("captures tried", 1);
            add("captures", u64::from(attempt.saved.is_some()));
            add("captures skipped", u64::from(attempt.skipped));
        }
        if let Some(status) = &life.status {
            add("requests in the cooldown", status.dropped.cooldown);
            add("requests behind another", status.dropped.pending);
            add("requests that met busy", status.dropped.busy);
        }
        add("deaths", u64::from(life.killed_ms.is_some()));
        add("drivers dropped", u64::from(life.dropped.is_some()));
        match life.ends.first() {
            Some(End::Deadline) => add("ends at the deadline", 1),
            Some(End::Stopped) => add("ends by a stop", 1),
            Some(End::Budget(_)) => add("ends by a budget", 1),
            Some(End::Interrupted { .. }) => add("ends by three deaths", 1),
            Some(End::Failed { .. }) => add("ends by a failure", 1),
            Some(End::Abandoned) => add("ends by a drop", 1),
            _ => {}
        }
    }
    counts
}
