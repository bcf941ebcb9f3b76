//! What a sample costs where it is taken, and what a capture costs besides.
//!
//! One thread works in small equal steps, with 16 KiB on its stack and its data
//! spread over more memory than the nearer caches have. At first its handlers are
//! timed. Then it reads its CPU clock after each step: one in which a signal came
//! took longer, by the timer's interrupt, the signal, the handler and the way
//! back.

use std::hint::black_box;
use std::time::Duration;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::at_depth;
use crate::workload::clock::{process_cpu, thread_cpu, tick_hz};
use crate::workload::crew::Crew;
use crate::workload::interpose::{self, Interposed};
use crate::workload::profiler::Profiler;
use crate::workload::report::{Report, quantile};

/// 4 MiB.
const WORDS: usize = 1 << 19;

/// Steps that took longer were interrupted by something else as well.
const DISTURBED: u64 = 2_000_000;

/// What the thread saw.
#[derive(Default)]
struct Seen {
    stack: usize,
    /// All CPU time of the thread.
    cpu_of_all: Duration,
    /// CPU time while handlers were timed, and the signals that came.
    cpu: Duration,
    signals: u32,
    /// CPU time while steps were timed.
    cpu_of_steps: Duration,
    /// Nanoseconds of the steps with a signal, less those of a step as such.
    signalled: Vec<f64>,
    /// Nanoseconds of other interruptions, such as the kernel's tick.
    other: Vec<f64>,
}

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let crew = Crew::new(1, move |_| worker(seconds))?;
    let start = process_cpu();
    let running = profiler.start(args.hz()?)?;
    let interposed = Interposed::new();
    let started = process_cpu();
    crew.work();
    let worked = process_cpu();
    // Where there is no handler there is nothing to time.
    let times = interposed.map_or(Vec::new(), |interposed| interposed.times());
    let stopping = process_cpu();
    let profile = running.finish()?;
    let stopped = process_cpu();

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    report.seconds("cpu start", started - start);
    report.seconds("cpu finish", stopped - stopping);
    report.number("delivery ns", interpose::empty_delivery(10_000)?);
    report.number("all handlers ns mean", trimmed_mean(&mut times.concat()));
    let mut sampling = sampling(times);
    report.number("handler ns", quantile(&mut sampling, 0.5));
    report.number("handler ns p90", quantile(&mut sampling, 0.9));
    for mut seen in crew.end() {
        let busy = seen.cpu_of_all;
        report.seconds("cpu busy-0", busy);
        // The thread that started all this only waited in the meantime.
        report.seconds("cpu others", (worked - started).saturating_sub(busy));
        report.number("stack", seen.stack as f64);
        report.number(
            "signals per s",
            f64::from(seen.signals) / seen.cpu.as_secs_f64(),
        );
        // The tick is the kernel's, with a signal or without. What else
        // interrupts is shorter, so these are the longest.
        let ticks = seen.cpu_of_steps.as_secs_f64() * tick_hz() - seen.signalled.len() as f64;
        let mut ticks = longest(seen.other, ticks.max(1.0) as usize);
        report.number("tick ns", quantile(&mut ticks, 0.5));
        report.number("signalled ns", quantile(&mut seen.signalled, 0.5));
    }
    Ok(report)
}

fn worker(seconds: Duration) -> Seen {
    let mark = 0_u8;
    let top = &raw const mark as usize;
    let before = thread_cpu();
    let mut memory = vec![1_u64; WORDS];
    let mut seen = Seen::default();
    at_depth(&mut |bottom| {
        seen.stack = top - bottom;
        time_handlers(&mut memory, seconds / 2, &mut seen);
        time_steps(&mut memory, seconds / 2, &mut seen);
    });
    drop(memory);
    seen.cpu_of_all = thread_cpu() - before;
    seen
}

#[inline(never)]
fn time_handlers(memory: &mut [u64], seconds: Duration, seen: &mut Seen) {
    let mut at = 1;
    let before = thread_cpu();
    interpose::watch_this_thread();
    while seen.cpu < seconds {
        for _ in 0..5_000 {
            step(memory, &mut at);
        }
        seen.cpu = thread_cpu() - before;
    }
    seen.signals = interpose::seen();
    interpose::keep_no_more_times();
}

#[inline(never)]
fn time_steps(memory: &mut [u64], seconds: Duration, seen: &mut Seen) {
    let mut at = 1;
    let mut plain: Vec<f64> = (0..20_000)
        .map(|_| {
            let start = cpu_nanos();
            step(memory, &mut at);
            (cpu_nanos() - start) as f64
        })
        .collect();
    let usual = quantile(&mut plain, 0.5);
    let unusual = (usual * 4.0) as u64 + 500;

    let start = thread_cpu();
    while seen.cpu_of_steps < seconds {
        let mut last = cpu_nanos();
        let mut signals = interpose::seen();
        // Steps since `last`.
        let mut taken = 0.0;
        for _ in 0..2_000 {
            step(memory, &mut at);
            taken += 1.0;
            let before = interpose::seen();
            let now = cpu_nanos();
            if interpose::seen() != before {
                // The signal came while the clock was read: on which side is
                // not known, so this is no moment to end at.
                continue;
            }
            let time = now - last;
            let signalled = before != signals;
            let beyond = time as f64 - taken * usual;
            last = now;
            signals = before;
            taken = 0.0;
            if time > DISTURBED {
                continue;
            }
            if signalled {
                seen.signalled.push(beyond);
            } else if time > unusual {
                seen.other.push(beyond);
            }
        }
        seen.cpu_of_steps = thread_cpu() - start;
    }
}

/// The thread's own clock: what runs in between on the same CPU does not count.
fn cpu_nanos() -> u64 {
    thread_cpu().as_nanos() as u64
}

/// Eight places of the memory, out of reach of the nearer caches.
#[inline(never)]
fn step(memory: &mut [u64], at: &mut usize) {
    for _ in 0..8 {
        *at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let place = (*at >> 33) % WORDS;
        memory[place] = memory[place].wrapping_add(1);
    }
    black_box(memory);
}

/// The times of the timer by which samples are taken: of the slowest that is not
/// rare.
fn sampling(by_timer: Vec<Vec<f64>>) -> Vec<f64> {
    let count: usize = by_timer.iter().map(Vec::len).sum();
    by_timer
        .into_iter()
        .filter(|times| times.len() * 10 >= count)
        .map(|mut times| (quantile(&mut times, 0.5), times))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map_or(Vec::new(), |(_, times)| times)
}

fn longest(mut times: Vec<f64>, count: usize) -> Vec<f64> {
    times.sort_by(|one, other| other.total_cmp(one));
    times.truncate(count);
    times
}

/// The mean without a tenth at either end.
fn trimmed_mean(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let ends = values.len() / 10;
    let middle = &values[ends..values.len() - ends];
    middle.iter().sum::<f64>() / middle.len() as f64
}
