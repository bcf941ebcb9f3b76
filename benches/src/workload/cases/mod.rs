//! The cases that every subject knows. Each runs once, in a process of its own.

mod busy;
mod cost;
mod ending;
mod memory;
mod roots;
mod short;
mod slowdown;
mod switch;

use super::Failure;
use super::args::Args;
use super::profiler::Profiler;
use super::report::Report;

/// Runs the case that `args` name; `None` if it is none of these.
pub(crate) fn run(profiler: &dyn Profiler, args: &Args) -> Option<Result<Report, Failure>> {
    let case = match args.case.as_str() {
        "busy" => busy::run,
        "short" => short::run,
        "cost" => cost::run,
        "memory" => memory::run,
        "ending" => ending::run,
        "roots" => roots::run,
        "slowdown" => slowdown::run,
        "switch" => switch::run,
        _ => return None,
    };
    Some(case(profiler, args))
}
