//! The end of a capture that has thousands of addresses to name.

use std::time::{Duration, Instant};

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::chains;
use crate::workload::clock::process_cpu;
use crate::workload::crew::Crew;
use crate::workload::process;
use crate::workload::profiler::Profiler;
use crate::workload::report::Report;

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let each = Duration::from_secs_f64(args.number("each")?);
    let crew = Crew::new(2, move |part| chains::run_all(part, 2, each))?;
    let running = profiler.start(args.hz()?)?;
    crew.work();

    let resident = process::resident()?;
    process::reset_peak()?;
    let start = Instant::now();
    let before = process_cpu();
    let profile = running.finish()?;
    let cpu = process_cpu() - before;
    let wall = start.elapsed();
    let peak = process::resident_peak()?;
    crew.end();

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    report.seconds("cpu", cpu);
    report.seconds("wall", wall);
    report.number("memory", peak - resident);
    report.number("bytes", profile.len() as f64);
    Ok(report)
}
