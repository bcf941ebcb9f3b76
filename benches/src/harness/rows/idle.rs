//! What a recorder does between two captures.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut row = Row::new(
        "between captures: threads, timers, signals, wake-ups",
        "0, 0, 0, 0",
    )
    .limited_by("The wake-ups are those of the runtime, if the schedule asked for none.");
    for subject in [Subject::Linux, Subject::Pprof] {
        let seconds = if bench.quick { 0.2 } else { 2.0 };
        let runs = bench.runs(2, subject, "idle", &[("seconds", seconds)]);
        let of = |name: &str| -> Spread { runs.iter().map(|run| run.number(name)).collect() };
        let seen = [of("threads"), of("timers"), of("signals"), of("switches")];
        if seen.iter().any(Spread::is_empty) {
            continue;
        }
        let shown: Vec<String> = seen.iter().map(|spread| spread.show(0)).collect();
        row.text(subject, shown.join(", "));
        if subject == Subject::Linux {
            let all: Spread = seen.iter().map(Spread::median).collect();
            row.judge(&all, |_| all.most() <= 0.0);
        }
    }
    row.note("wake-ups are voluntary context switches in 2 s, beyond those of the runtime alone");
    vec![row]
}
