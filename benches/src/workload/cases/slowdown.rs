//! A fixed amount of work, with and without sampling, in turns.

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::fixed_work;
use crate::workload::clock::thread_cpu;
use crate::workload::profiler::Profiler;
use crate::workload::report::{Report, quantile};

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let hz = args.hz()?;
    let turn = args.seconds()?.as_secs_f64();
    let pairs = args.number("pairs")? as usize;
    let once = time(8);
    let rounds = ((turn / once * 8.0) as u32).max(1);

    let mut ratios = Vec::new();
    for pair in 0..pairs {
        let sampled = || -> Result<f64, Failure> {
            let running = profiler.start(hz)?;
            let time = time(rounds);
            running.finish()?;
            Ok(time)
        };
        // Each goes first as often as the other.
        let (plain, sampled) = if pair % 2 == 0 {
            let plain = time(rounds);
            (plain, sampled()?)
        } else {
            let sampled = sampled()?;
            (time(rounds), sampled)
        };
        ratios.push(sampled / plain - 1.0);
    }
    let mut report = Report::default();
    report.number("pairs", pairs as f64);
    report.number("median", quantile(&mut ratios, 0.5));
    report.number("low", quantile(&mut ratios, 0.25));
    report.number("high", quantile(&mut ratios, 0.75));
    Ok(report)
}

/// CPU seconds that the work takes this thread.
fn time(rounds: u32) -> f64 {
    let start = thread_cpu();
    std::hint::black_box(fixed_work(rounds));
    (thread_cpu() - start).as_secs_f64()
}
