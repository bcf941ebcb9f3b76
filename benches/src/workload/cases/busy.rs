//! Threads that use CPU time and do nothing else.

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::burn;
use crate::workload::clock::process_cpu;
use crate::workload::crew::Crew;
use crate::workload::profiler::Profiler;
use crate::workload::report::Report;

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let crew = Crew::new(args.number("threads")? as usize, move |_| burn(seconds))?;
    let running = profiler.start(args.hz()?)?;
    let before = process_cpu();
    crew.work();
    let cpu = process_cpu() - before;
    let profile = running.finish()?;

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    report.seconds("cpu", cpu);
    for (number, cpu) in crew.end().into_iter().enumerate() {
        report.seconds(format!("cpu busy-{number}"), cpu);
    }
    Ok(report)
}
