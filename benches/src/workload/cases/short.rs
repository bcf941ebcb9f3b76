//! Threads that live for a moment, one after another.

use std::thread;
use std::time::Duration;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::burn;
use crate::workload::clock::thread_cpu;
use crate::workload::profiler::Profiler;
use crate::workload::report::Report;

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let life = Duration::from_secs_f64(args.number("life")?);
    let running = profiler.start(args.hz()?)?;
    let mut cpu = Duration::ZERO;
    let mut threads = 0.0;
    while cpu < seconds {
        let thread = thread::Builder::new().name("short".into()).spawn(move || {
            burn(life);
            thread_cpu()
        })?;
        cpu += thread.join().map_err(|_| "a thread panicked")?;
        threads += 1.0;
    }
    let profile = running.finish()?;

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    report.seconds("cpu short", cpu);
    report.number("threads", threads);
    Ok(report)
}
