//! The page that is kept: `BENCHMARKS.md`.

use std::time::Duration;

use super::bench::Bench;
use super::machine::{Machine, Quiet};
use super::options::Options;
use super::subjects::Subject;
use super::table::{Row, render};
use crate::workload::Failure;

/// Everything that is told of a run.
pub(crate) struct Page<'a> {
    pub(crate) options: &'a Options,
    pub(crate) machine: &'a Machine,
    pub(crate) load: &'a Quiet,
    pub(crate) took: Duration,
    pub(crate) rows: &'a [Row],
    pub(crate) bench: &'a Bench,
}

impl Page<'_> {
    /// What is printed.
    pub(crate) fn summary(&self) -> String {
        let mut text = render(self.rows);
        text.push('\n');
        text.push_str(&self.quiet());
        for line in self.missed().into_iter().chain(self.not_run()) {
            text.push_str(&format!("\n{line}"));
        }
        text
    }

    /// What is kept.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("# Benchmarks\n\n");
        if self.options.quick {
            text.push_str("**A smoke test: these numbers mean nothing.**\n\n");
        }
        text.push_str(&format!("```sh\n{}\n```\n\n", self.options.command()));
        text.push_str("| | |\n|---|---|\n");
        for (name, value) in &self.machine.facts {
            text.push_str(&format!("| {name} | {value} |\n"));
        }
        text.push_str(&format!("\n{}\n\n", self.quiet()));
        text.push_str(
            "Numbers are medians, with the least and the greatest in brackets. A bar is for \
             `sampler-linux`, and held by its median or not at all. A dash: this peer has no \
             such thing, or was not there.\n\n",
        );
        text.push_str(&render(self.rows));
        section(&mut text, "Bars that were missed", &self.missed());
        section(&mut text, "Seen besides", &self.notes());
        section(&mut text, "Not run", &self.not_run());
        text.push_str(HOW);
        text
    }

    /// Whether every case ran under everybody who is here.
    ///
    /// # Errors
    ///
    /// If one did not.
    pub(crate) fn check_complete(&self) -> Result<(), Failure> {
        let silent = self
            .rows
            .iter()
            .find(|row| row.shown(Subject::Linux) == "–");
        match (self.bench.failures.first(), silent) {
            (Some(failure), _) => Err(failure.clone().into()),
            (None, Some(row)) => Err(format!("nothing for \"{}\"", row.what).into()),
            (None, None) => Ok(()),
        }
    }

    fn quiet(&self) -> String {
        let mut text = format!(
            "The run took {:.0} s. Other processes kept {:.2} CPUs busy meanwhile, the hypervisor \
             took {:.2}; the load was {} at the start.",
            self.took.as_secs_f64(),
            self.load.others,
            self.load.stolen,
            self.load.average
        );
        if self.bench.left_out > 0 {
            text.push_str(&format!(
                " It was slow: {} repetitions were left out to end in time.",
                self.bench.left_out
            ));
        }
        text
    }

    fn missed(&self) -> Vec<String> {
        self.rows
            .iter()
            .filter(|row| row.holds == Some(false))
            .map(|row| {
                format!(
                    "{}: {}, for a bar of {}. {}",
                    row.what,
                    row.shown(Subject::Linux),
                    row.bar,
                    row.limit
                )
            })
            .collect()
    }

    fn notes(&self) -> Vec<String> {
        self.rows
            .iter()
            .flat_map(|row| {
                row.notes
                    .iter()
                    .map(move |note| format!("{}: {note}", row.what))
            })
            .collect()
    }

    fn not_run(&self) -> Vec<String> {
        let missing = self
            .bench
            .subjects
            .missing()
            .map(|(subject, reason)| format!("{}: {reason}", subject.name()));
        missing.chain(self.bench.failures.iter().cloned()).collect()
    }
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {title}\n\n"));
    for line in lines {
        text.push_str(&format!("- {}\n", line.trim_end()));
    }
}

const HOW: &str = "
## How it is measured

Every measurement is a process of its own, one at a time. All amounts of work
are CPU time, so that other processes make a run longer but not different.

- **Samples ÷ (CPU s × rate)**: threads that exist before and after burn the same
  CPU time each. Samples (by weight) of the whole process over its CPU clock,
  between the profiler's start and stop. `perf` counts its samples of these
  threads over their CPU clocks.
- **Split**: from the same runs with two threads: how far a thread's samples for
  each CPU second are from the mean of both, at worst.
- **Leaf**: from the same runs: samples of the busy threads whose leaf is the
  function that burns, or the C library's or kernel's way to the clock that it
  reads 2,000 times a second.
- **Short threads**: threads that burn 3, 25 or 300 ms one after another; samples
  with their name over their own CPU clocks.
- **Tasks**: futures on two tokio workers that burn 50, 30 and 20 µs a poll and
  read the thread's CPU clock around it. A sample is *wrong* if the function on its
  stack is that of another task than its label. σ is what the number of different
  moments sampled (not their weight) allows for.
- **Handler**: a handler of the bench stands between kernel and profiler and reads
  the clock on both sides. The thread has 16 KiB and 30 calls on its stack and walks
  through 4 MiB.
- **All CPU of a capture**: all handlers of the busy thread as timed above (also
  of timers by which nothing is sampled), for each of these signals what a signal to
  oneself with an empty handler takes, and all other threads of the process by its
  CPU clock. Start and end of the capture are said apart, in ms. Go's handler cannot
  be timed from outside. For `perf` it is the CPU time of `perf` itself, with its
  start and end, and not what the kernel does for it.
- **A step with a signal**: the same thread reads its CPU clock after each step of
  less than 1 µs. Steps with a signal, less the step itself and less what the kernel's
  tick takes without profiler, are timer, signal, handler, return, and cold caches. A
  difference of two larger numbers, so noisy.
- **Resident memory**: `VmHWM`, reset before, and `VmRSS` 0.2 s after the profile
  was dropped. *Idle*: what making the sampler adds.
- **Ending**: 704 chains of three functions burn long enough to be sampled each;
  then CPU time of the process and growth of `VmHWM` from stop to encoded profile.
  The recorder does this through `Offload`, never on an executor thread.
- **Labels**: a future with next to nothing to do, polled 200,000 times as it is and
  wrapped, in 301 turns; the median of the differences.
- **Roots**: samples of the workers of a service that answers its own four clients;
  the outermost four frames must contain the thread's or the program's first Rust
  function.
- **Idle**: a whole recorder on tokio, after its first capture: threads and voluntary
  context switches beyond those of the same runtime before it, timers, and
  `SIGPROF`s that a busy thread gets.
- **Slowdown**: the same work with and without sampling in turns, CPU time of the
  thread; median and quartiles of the pairs' ratios. Two turns without sampling
  show the noise.
";
