//! How many samples there are, whose they are, and where they are.

use super::super::bench::{Bench, Run};
use super::super::spread::Spread;
use super::super::stacks::Stack;
use super::super::subjects::Subject;
use super::super::table::Row;

/// The function that burns, in Rust and in Go.
const HOT: [&str; 2] = ["spin_hot", "spinHot"];

/// Names of what lies on the way to the clock, and back from it.
const CLOCK: [&str; 8] = [
    "clock_gettime",
    "clockGettime",
    "vdso",
    "libc.so",
    "syscall",
    "Syscall",
    "thread_cpu",
    "threadCPU",
];

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut split = Row::new("split of two equal busy threads, off by", "≤ 2 %")
        .limited_by("Each thread has its own timer; what is left is a sample at either end.");
    let mut leaf = Row::new("leaf is the hot function, 100 Hz", "every sample")
        .limited_by("Samples elsewhere are listed below.");
    for hz in [100, 1000] {
        for threads in [1, 2, 4] {
            let mut row = Row::new(
                format!("samples ÷ (CPU s × rate), {hz} Hz, {threads} busy"),
                "0.99 to 1.01",
            )
            .limited_by(
                "A timer that has not expired when sampling ends, one for each thread, is a part \
                 of a sample lost.",
            );
            for subject in Subject::COLUMNS {
                if subject == Subject::Pprof && hz > 100 {
                    row.text(subject, "refuses");
                    continue;
                }
                let seconds = if subject == Subject::Linux { 1.5 } else { 1.0 };
                let runs = bench.runs(
                    3,
                    subject,
                    "busy",
                    &[
                        ("hz", f64::from(hz)),
                        ("threads", f64::from(threads)),
                        ("seconds", bench.seconds(seconds)),
                    ],
                );
                let ratios: Spread = runs
                    .iter()
                    .map(|run| ratio(subject, run, f64::from(hz)))
                    .collect();
                row.cell(subject, &ratios, 3, "");
                if subject == Subject::Linux {
                    row.judge(&ratios, |ratio| (0.99..=1.01).contains(&ratio));
                }
                if (hz, threads) == (100, 2) {
                    split_of_two(&mut split, subject, &runs);
                    leaves(&mut leaf, subject, &runs);
                }
            }
            rows.push(row);
        }
    }
    rows.extend([split, leaf]);
    rows
}

fn is_busy(stack: &Stack) -> bool {
    stack.thread.starts_with("busy-")
}

fn ratio(subject: Subject, run: &Run, hz: f64) -> f64 {
    match subject {
        // Its samples begin before the subject does.
        Subject::Perf => {
            let cpu: f64 = (0..4)
                .map(|number| run.number(&format!("cpu busy-{number}")))
                .filter(|cpu| cpu.is_finite())
                .sum();
            run.stacks.count(is_busy) / (cpu * hz)
        }
        _ => run.stacks.count(|_| true) / (run.number("cpu") * hz),
    }
}

fn split_of_two(row: &mut Row, subject: Subject, runs: &[Run]) {
    let rates: Vec<(f64, f64)> = runs
        .iter()
        .map(|run| {
            let rate = |name: &str| {
                run.stacks.count(|stack| stack.thread == name) / run.number(&format!("cpu {name}"))
            };
            (rate("busy-0"), rate("busy-1"))
        })
        .collect();
    let off: Spread = rates
        .iter()
        .map(|(one, other)| 100.0 * (one - other).abs() / (one + other))
        .collect();
    row.cell(subject, &off, 1, " %");
    if subject == Subject::Linux {
        row.judge(&off, |off| off <= 2.0);
    }
}

fn leaves(row: &mut Row, subject: Subject, runs: &[Run]) {
    let is_hot = |stack: &Stack| HOT.iter().any(|hot| stack.leaf().contains(hot));
    let on_the_way = |stack: &Stack| {
        !HOT.iter().any(|hot| stack.has(hot))
            && CLOCK.iter().any(|name| stack.leaf().contains(name))
    };
    let right: Spread = runs
        .iter()
        .map(|run| {
            let all = run.stacks.count(is_busy);
            let right = |stack: &Stack| is_busy(stack) && (is_hot(stack) || on_the_way(stack));
            100.0 * run.stacks.count(right) / all
        })
        .collect();
    row.cell(subject, &right, 2, " %");
    if subject == Subject::Linux {
        row.judge(&right, |right| right > 99.99);
    }
    let wrong = runs
        .iter()
        .flat_map(|run| &run.stacks.all)
        .filter(|stack| is_busy(stack) && !is_hot(stack) && !on_the_way(stack))
        .max_by(|one, other| one.count.total_cmp(&other.count));
    if let Some(stack) = wrong {
        row.note(format!(
            "{} also has {} samples in {}",
            subject.name(),
            stack.count,
            stack.leaf()
        ));
    }
}
