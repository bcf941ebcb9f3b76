//! This program as a subject: a process of its own for every measurement.

mod idle;
mod labels;
mod samplers;
mod tasks;
mod turns;

use std::sync::Arc;

use crate::workload::args::Args;
use crate::workload::clock::process_cpu;
use crate::workload::profiler::{Nothing, Profiler};
use crate::workload::report::Report;
use crate::workload::{Failure, cases, process};

/// Runs the case on the command line and prints what it found.
pub(crate) fn main(words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let args = Args::parse(words)?;
    let mut report = run(&args)?;
    report.seconds("process", process_cpu());
    println!("{}", report.line());
    Ok(())
}

fn run(args: &Args) -> Result<Report, Failure> {
    let before = process::resident()?;
    let sampler = samplers::by_name(args.text("sampler").unwrap_or("none"))?;
    let idle = process::resident()? - before;
    let profiler: Box<dyn Profiler> = match &sampler {
        None => Box::new(Nothing),
        Some(sampler) => Box::new(samplers::Sampled::new(Arc::clone(sampler))),
    };
    let mut report = match cases::run(&*profiler, args) {
        Some(result) => result?,
        None => {
            let sampler = sampler.ok_or("this case needs a sampler")?;
            match args.case.as_str() {
                "tasks" => tasks::run(sampler, args)?,
                "labels" => labels::run(sampler)?,
                "idle" => idle::run(sampler, args)?,
                "turns" => turns::run(sampler, args)?,
                case => return Err(format!("no such case: {case}").into()),
            }
        }
    };
    report.number("idle", idle);
    Ok(report)
}
