//! A process of another user that tries everything, all the time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::NOBODY;
use crate::attempts::{ATTEMPTS, Target};
use crate::process::{Process, answer, told};

/// What the intruder has done.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) attempts: u64,
    /// What succeeded, and how often.
    pub(crate) successes: BTreeMap<String, u64>,
}

pub(crate) struct Intruder(Process);

impl Intruder {
    /// Begins to try, in `around/profiles`, from `around/own`.
    pub(crate) fn start(test: &str, around: &Path) -> Self {
        let own = around.join("own");
        fs::create_dir(&own).expect("created");
        std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).expect("root may");
        Self(Process::start(test, around, Some(NOBODY)))
    }

    /// Returns once everything was tried, knowing that `names` stand there.
    pub(crate) fn try_everything(&mut self, names: &[String]) {
        self.0
            .tell(&format!("{} {}", std::process::id(), names.join(" ")));
        assert_eq!(self.0.hear(), "tried");
    }

    pub(crate) fn stop(mut self) -> Report {
        self.0.tell("report");
        let mut report = Report::default();
        loop {
            let line = self.0.hear();
            match line.split_once(' ') {
                Some(("attempts", number)) => {
                    report.attempts = number.parse().expect("a number");
                    self.0.join();
                    return report;
                }
                Some((number, what)) => {
                    let number = number.parse().expect("a number");
                    report.successes.insert(what.to_owned(), number);
                }
                None => panic!("{line:?}"),
            }
        }
    }
}

/// In the intruder's process: tries until it is told to report.
pub(crate) fn play(around: &Path) {
    let shared = Arc::new(Shared {
        directory: around.join("profiles"),
        own: around.join("own"),
        known: Mutex::default(),
        rounds: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    });
    let tries = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.try_all_the_time()
    });
    for line in told() {
        if line == "report" {
            break;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let process = words.next().and_then(|it| it.parse().ok());
        let known = (process.expect("a process"), words.collect());
        *shared.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        // The round that runs now began before.
        let before = shared.rounds.load(Ordering::SeqCst);
        while shared.rounds.load(Ordering::SeqCst) < before + 2 {
            assert!(!tries.is_finished(), "it gave up");
            thread::yield_now();
        }
        answer("tried");
    }
    shared.is_over.store(true, Ordering::SeqCst);
    let report = tries.join().expect("it tries to the end");
    for (what, number) in report.successes {
        answer(&format!("{number} {what}"));
    }
    answer(&format!("attempts {}", report.attempts));
}

struct Shared {
    directory: PathBuf,
    own: PathBuf,
    /// The process that records, and the entries that stand there.
    known: Mutex<(u32, Vec<String>)>,
    rounds: AtomicU64,
    is_over: AtomicBool,
}

impl Shared {
    fn try_all_the_time(&self) -> Report {
        let mut report = Report::default();
        while !self.is_over.load(Ordering::SeqCst) {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let (process, mut entries) = known.clone();
            drop(known);
            if entries.is_empty() {
                entries.push("unknown.pprof.partial".to_owned());
            }
            for entry in entries {
                let target = Target {
                    directory: self.directory.clone(),
                    entry,
                    process,
                    own: self.own.clone(),
                };
                for (what, attempt) in ATTEMPTS {
                    report.attempts += 1;
                    if attempt(&target).is_ok() {
                        *report.successes.entry(what.to_owned()).or_default() += 1;
                    }
                }
            }
            self.rounds.fetch_add(1, Ordering::SeqCst);
        }
        report
    }
}
