//! Whether time is told to the right task.

use super::super::bench::{Bench, Run};
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;
use crate::workload::clock::tick_hz;

const TASKS: [&str; 3] = ["half", "third", "fifth"];

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut shares = Row::new(
        "task shares 50/30/20 at µs scale, two workers, off by",
        "≤ 1 point",
    )
    .limited_by("See σ: so far samples at random moments are off by themselves.");
    let mut wrong = Row::new("samples with another task's label", "0")
        .limited_by("Between setting a label and the first instruction of the task there is none.");
    for (subject, hz, seconds) in [
        (Subject::Linux, 1000.0, 30.0),
        (Subject::Pprof, 100.0, 15.0),
    ] {
        let seconds = bench.seconds(seconds);
        let runs = bench.runs(3, subject, "tasks", &[("hz", hz), ("seconds", seconds)]);
        // One number of all runs together, since its noise is that of counting.
        let off: Spread = greatest_difference(&runs).into_iter().collect();
        shares.cell(subject, &off, 2, " points");
        let mislabelled: Spread = runs.iter().map(mislabelled).collect();
        wrong.cell(subject, &mislabelled, 0, "");
        if subject == Subject::Linux {
            shares.judge(&off, |off| off <= 1.0);
            wrong.judge(&mislabelled, |wrong| wrong == 0.0);
        }
        shares.note(told(subject, hz, &runs));
    }
    vec![shares, wrong]
}

fn samples(runs: &[Run], task: &str) -> f64 {
    let of = |run: &Run| {
        run.stacks
            .count(|stack| stack.task.as_deref() == Some(task))
    };
    runs.iter().map(of).sum()
}

fn labelled(runs: &[Run]) -> f64 {
    TASKS.iter().map(|task| samples(runs, task)).sum()
}

/// Percent of the CPU time, by the clock of the threads.
fn truth(runs: &[Run], task: &str) -> f64 {
    let of = |task: &str| -> f64 {
        let name = format!("cpu {task}");
        runs.iter().map(|run| run.number(&name)).sum()
    };
    100.0 * of(task) / TASKS.iter().map(|task| of(task)).sum::<f64>()
}

fn greatest_difference(runs: &[Run]) -> Option<f64> {
    let all = labelled(runs);
    TASKS
        .iter()
        .map(|task| (100.0 * samples(runs, task) / all - truth(runs, task)).abs())
        .max_by(f64::total_cmp)
}

/// Samples with one task's function on the stack and not that task's label.
fn mislabelled(run: &Run) -> f64 {
    run.stacks.count(|stack| {
        TASKS.iter().any(|task| {
            stack.has(&format!("work_of_{task}")) && stack.task.as_deref() != Some(*task)
        })
    })
}

fn told(subject: Subject, hz: f64, runs: &[Run]) -> String {
    let all = labelled(runs);
    let shares: Vec<String> = TASKS
        .iter()
        .map(|task| {
            let sampled = 100.0 * samples(runs, task) / all;
            format!("{sampled:.2} of {:.2}", truth(runs, task))
        })
        .collect();
    // A sample of weight 4 is one moment. Weights are merged in a profile, but
    // no thread is looked at more often than the kernel's tick comes.
    let moments = all * (tick_hz() / hz).min(1.0);
    let sigma = 50.0 / moments.sqrt();
    format!(
        "{}: {} %, σ {sigma:.2} points",
        subject.name(),
        shares.join(", ")
    )
}
