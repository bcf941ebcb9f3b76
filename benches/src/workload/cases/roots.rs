//! Stacks of a service on tokio, hyper and serde.

use std::time::Duration;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::clock::process_cpu;
use crate::workload::profiler::Profiler;
use crate::workload::report::Report;
use crate::workload::service::Service;

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("service")
        .enable_all()
        .build()?;
    let service = runtime.block_on(Service::start())?;
    let running = profiler.start(args.hz()?)?;
    let before = process_cpu();
    while process_cpu() - before < seconds {
        std::thread::sleep(Duration::from_millis(10));
    }
    let cpu = process_cpu() - before;
    let profile = running.finish()?;
    let answers = runtime.block_on(service.stop())?;

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    report.seconds("cpu", cpu);
    report.number("answers", answers as f64);
    Ok(report)
}
