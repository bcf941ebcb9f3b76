//! Resident memory before, during and after a capture.

use std::thread;
use std::time::Duration;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::burn;
use crate::workload::crew::Crew;
use crate::workload::process;
use crate::workload::profiler::Profiler;
use crate::workload::report::Report;

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let crew = Crew::new(2, move |_| burn(seconds))?;
    // Have the code in memory that everybody runs.
    burn(Duration::from_millis(5));
    process::reset_peak()?;
    process::resident_peak()?;
    let before = process::resident()?;
    let private = process::resident_private()?;
    process::reset_peak()?;

    let running = profiler.start(args.hz()?)?;
    crew.work();
    let capturing = process::resident_peak()?;
    let profile = running.finish()?;
    let ending = process::resident_peak()?;
    args.keep_profile(&profile)?;
    drop(profile);
    thread::sleep(Duration::from_millis(200));
    let after = process::resident()?;
    let private_after = process::resident_private()?;
    crew.end();

    let mut report = Report::default();
    report.number("before", before);
    report.number("capturing", capturing - before);
    report.number("ending", ending - before);
    report.number("after", after - before);
    report.number("after private", private_after - private);
    Ok(report)
}
