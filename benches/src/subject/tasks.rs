//! Three tasks that take turns of 50, 30 and 20 µs on two workers.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tachograph_core::Sampler;
use tachograph_test_support::labelling_recorder;

use super::samplers::Sampled;
use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::clock::{process_cpu, thread_cpu};
use crate::workload::profiler::Profiler;
use crate::workload::report::{Report, quantile};

/// CPU time in nanoseconds that each task says it used.
static SPENT: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// What it takes to read the clock, in nanoseconds. Half of that lies before the
/// first reading of a turn and half after the last, and both are the task's.
static READING: AtomicU64 = AtomicU64::new(0);

type Work = fn(Duration);

/// The tasks. The function of each has the task's name in its own, so that a
/// stack tells whose it is without a label.
const TASKS: [(&str, u64, Work); 3] = [
    ("half", 50, work_of_half),
    ("third", 30, work_of_third),
    ("fifth", 20, work_of_fifth),
];

macro_rules! work {
    ($($name:ident = $number:literal;)*) => {$(
        #[inline(never)]
        fn $name(cpu: Duration) {
            work(cpu, $number);
            black_box($number);
        }
    )*};
}

work! {
    work_of_half = 3;
    work_of_third = 5;
    work_of_fifth = 7;
}

#[inline(always)]
fn work(cpu: Duration, seed: u64) {
    let start = thread_cpu();
    let mut state = seed;
    let spent = loop {
        let spent = thread_cpu() - start;
        if spent >= cpu {
            break spent;
        }
        let mut round = 0;
        while round < 2_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            round += 1;
        }
        black_box(state);
    };
    let place = &SPENT[(seed as usize - 3) / 2];
    let nanos = spent.as_nanos() as u64 + READING.load(Ordering::Relaxed);
    place.fetch_add(nanos, Ordering::Relaxed);
}

pub(super) fn run(sampler: Arc<dyn Sampler>, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    READING.store(time_reading(), Ordering::Relaxed);
    let (recorder, _driver) = labelling_recorder(&*sampler);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("worker")
        .build()?;
    let stop = Arc::new(AtomicBool::new(false));
    let start = Arc::new(AtomicBool::new(false));
    // Two of each, so that both workers always have something to do.
    let tasks: Vec<_> = TASKS
        .iter()
        .chain(&TASKS)
        .map(|&(name, micros, work)| {
            let (start, stop) = (Arc::clone(&start), Arc::clone(&stop));
            let labelled = recorder.task(name, async move {
                while !stop.load(Ordering::Relaxed) {
                    if start.load(Ordering::Relaxed) {
                        work(Duration::from_micros(micros));
                    }
                    tokio::task::yield_now().await;
                }
            });
            runtime.spawn(labelled)
        })
        .collect();

    let running = Sampled::new(sampler).start(args.hz()?)?;
    let before = process_cpu();
    start.store(true, Ordering::Relaxed);
    while process_cpu() - before < seconds {
        std::thread::sleep(Duration::from_millis(10));
    }
    let profile = running.finish()?;
    // Only after that, so that what is sampled is what is counted but for the
    // moment in between.
    let spent = SPENT.each_ref().map(|spent| spent.load(Ordering::Relaxed));
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        runtime.block_on(task)?;
    }

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    for ((name, _, _), nanos) in TASKS.iter().zip(spent) {
        report.number(format!("cpu {name}"), nanos as f64 / 1e9);
    }
    Ok(report)
}

fn time_reading() -> u64 {
    let mut times: Vec<f64> = (0..1_000)
        .map(|_| {
            let start = thread_cpu();
            (thread_cpu() - start).as_nanos() as f64
        })
        .collect();
    quantile(&mut times, 0.5) as u64
}
