//! How much is found of threads that live for a moment.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

const HZ: f64 = 100.0;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let cases = [(0.003, 80.0), (0.025, 95.0), (0.3, 98.0)];
    cases
        .into_iter()
        .map(|(life, bar)| one(bench, life, bar))
        .collect()
}

fn one(bench: &mut Bench, life: f64, bar: f64) -> Row {
    let mut row = Row::new(
        format!("CPU found on threads that live {:.0} ms", life * 1e3),
        format!("≥ {bar} %"),
    )
    .limited_by(
        "A thread that ends takes with it what it did since the kernel's last look at its timer.",
    );
    for subject in Subject::COLUMNS {
        // Goroutines are no threads.
        if subject == Subject::Go {
            continue;
        }
        let runs = bench.runs(
            3,
            subject,
            "short",
            &[("hz", HZ), ("life", life), ("seconds", bench.seconds(2.0))],
        );
        let found: Spread = runs
            .iter()
            .map(|run| {
                let samples = run.stacks.count(|stack| stack.thread == "short");
                100.0 * samples / (run.number("cpu short") * HZ)
            })
            .collect();
        row.cell(subject, &found, 1, " %");
        if subject == Subject::Linux {
            row.judge(&found, |found| found >= bar);
            let residual: Spread = runs
                .iter()
                .filter_map(|run| {
                    let told = run.stacks.told(" by the process timer")?;
                    Some(100.0 * told / (run.number("cpu short") * HZ))
                })
                .collect();
            if !residual.is_empty() {
                row.note(format!("{} % by the process's timer", residual.show(1)));
            }
        }
    }
    row
}
