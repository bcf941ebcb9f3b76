//! What sampling does to the speed of work.

use super::super::bench::Bench;
use super::super::subjects::Subject;
use super::super::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let (turn, pairs) = if bench.quick {
        (0.01, 2.0)
    } else {
        (0.2, 24.0)
    };
    let values = [("hz", 100.0), ("seconds", turn), ("pairs", pairs)];
    let mut row = Row::new("slowdown of fixed work, 100 Hz, median (quartiles)", "");
    let quartiles = |bench: &mut Bench, subject| {
        let runs = bench.runs(1, subject, "slowdown", &values);
        runs.first()
            .map(|run| ["low", "median", "high"].map(|name| 100.0 * run.number(name)))
    };
    let noise = quartiles(bench, Subject::Nothing);
    // Half of the pairs of nothing with nothing differ by more than this.
    let floor = noise.map_or(f64::INFINITY, |[low, _, high]| (high - low) / 2.0);
    for subject in Subject::COLUMNS {
        if subject == Subject::Perf {
            continue;
        }
        if let Some([low, median, high]) = quartiles(bench, subject) {
            let noise = if median.abs() <= floor {
                ", below the noise"
            } else {
                ""
            };
            row.text(
                subject,
                format!("{median:+.2} % ({low:+.2} to {high:+.2}){noise}"),
            );
        }
    }
    if let Some([low, median, high]) = noise {
        row.note(format!(
            "nothing against nothing: {median:+.2} % ({low:+.2} to {high:+.2}), {pairs} pairs"
        ));
    }
    vec![row]
}
