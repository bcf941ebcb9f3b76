//! What a label costs each poll.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut active = Row::new("label a poll, recorder active", "≤ 3 ns")
        .limited_by("It is three checks, and a thread-local read once and written twice.");
    let mut inert =
        Row::new("label a poll, recorder inert", "≤ 0.5 ns").limited_by("It is one branch.");
    for subject in [Subject::Linux, Subject::Pprof] {
        let runs = bench.runs(3, subject, "labels", &[]);
        for (row, name, bar) in [(&mut active, "active", 3.0), (&mut inert, "inert", 0.5)] {
            let times: Spread = runs
                .iter()
                .map(|run| run.number(&format!("{name} ns median")))
                .collect();
            row.cell(subject, &times, 2, " ns");
            if subject == Subject::Linux {
                row.judge(&times, |nanos| nanos <= bar);
            }
            if let Some(run) = runs.first() {
                row.note(format!(
                    "{}, first run: half of the differences lie between {:.2} and {:.2} ns; a poll \
                     without wrapper takes {:.2} ns",
                    subject.name(),
                    run.number(&format!("{name} ns low")),
                    run.number(&format!("{name} ns high")),
                    run.number("plain ns median")
                ));
            }
        }
    }
    vec![active, inert]
}
