//! What is measured, row by row, in the order of the table.

mod cost;
mod count;
mod ending;
mod executor;
mod idle;
mod label;
mod memory;
mod roots;
mod short;
mod slowdown;
mod tasks;

use std::time::{Duration, Instant};

use super::bench::Bench;
use super::options::Options;
use super::table::Row;

struct Group {
    name: &'static str,
    /// How long it takes on a quiet machine, with something to spare.
    time: Duration,
    measure: fn(&mut Bench) -> Vec<Row>,
}

const fn group(name: &'static str, seconds: u64, measure: fn(&mut Bench) -> Vec<Row>) -> Group {
    Group {
        name,
        time: Duration::from_secs(seconds),
        measure,
    }
}

const GROUPS: [Group; 11] = [
    group("count", 160, count::measure),
    group("short", 75, short::measure),
    group("tasks", 75, tasks::measure),
    group("cost", 65, cost::measure),
    group("memory", 22, memory::measure),
    group("ending", 40, ending::measure),
    group("label", 8, label::measure),
    group("roots", 38, roots::measure),
    group("idle", 27, idle::measure),
    group("executor", 14, executor::measure),
    group("slowdown", 50, slowdown::measure),
];

/// How long all measurements together may take: somewhat longer than the groups.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(599);

/// Measures the groups of rows that are asked for.
pub(crate) fn measure(bench: &mut Bench, options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut until = Instant::now();
    for group in GROUPS {
        if options
            .only
            .as_ref()
            .is_some_and(|only| !group.name.contains(only))
        {
            continue;
        }
        let start = Instant::now();
        until += group.time;
        bench.repeat_until(until);
        rows.extend((group.measure)(bench));
        let took = start.elapsed().as_secs_f64();
        eprintln!("measured: {}, {took:.1} s", group.name);
    }
    rows
}
