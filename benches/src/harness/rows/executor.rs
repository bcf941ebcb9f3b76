//! What a single-threaded executor has of a capture.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut polls = Row::new(
        "longest poll of a recorder, one thread, capturing",
        "≤ 1 ms",
    )
    .limited_by("A poll that lost its processor to others takes as long as they do.");
    let mut gaps = Row::new("largest gap between a task's turns there", "");
    for subject in [Subject::Linux, Subject::Pprof] {
        let seconds = bench.seconds(2.0);
        let runs = bench.runs(3, subject, "turns", &[("seconds", seconds)]);
        let of = |name: &str| -> Spread {
            let number = |run: &super::super::bench::Run| 1e3 * run.number(name);
            runs.iter().map(number).collect()
        };
        let poll = of("poll");
        polls.cell(subject, &poll, 2, " ms");
        gaps.cell(subject, &of("gap with"), 2, " ms");
        if subject == Subject::Linux {
            polls.judge(&poll, |poll| poll <= 1.0);
        }
        let without = of("gap without");
        if !without.is_empty() {
            let name = subject.name();
            gaps.note(format!("{name}: {} ms without a capture", without.show(2)));
        }
    }
    polls.note(
        "a full capture of 2 s by the clock of a tokio runtime with one thread; \
         beside it a task that gives way in a loop, so that it is always ready",
    );
    vec![polls, gaps]
}
