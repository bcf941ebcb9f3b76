//! The end of a capture that has much to name.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let size = std::fs::metadata(&bench.subjects.own).map_or(0, |own| own.len());
    let what = |measured: &str| {
        format!(
            "{measured} to end a capture of 2,000 addresses, {:.0} MB binary",
            size as f64 / 1e6
        )
    };
    let mut cpu = Row::new(what("CPU"), "≤ 20 ms").limited_by(
        "It is reading and sorting out the symbol table, and compression. Names by debug \
             information were tried and take 50 to 400 ms; so they are for those who ask for them. \
             On another machine of this kind, with a binary of 29 MB, it was 18.5 ms.",
    );
    let mut memory = Row::new(what("memory"), "≤ 5 MiB")
        .limited_by("It is the symbol table and the profile before it is compressed.");
    // A sample in each chain: the kernel looks at timers at each tick, and the
    // slower ones are due every 10 ms.
    for (subject, hz, each) in [
        (Subject::Linux, 1000.0, 0.0065),
        (Subject::Pprof, 100.0, 0.013),
        (Subject::Crate, 999.0, 0.0085),
    ] {
        let each = if bench.quick { 0.0004 } else { each };
        let runs = bench.runs(3, subject, "ending", &[("hz", hz), ("each", each)]);
        let times: Spread = runs.iter().map(|run| run.number("cpu") * 1e3).collect();
        let sizes: Spread = runs
            .iter()
            .map(|run| run.number("memory") / 1024.0 / 1024.0)
            .collect();
        cpu.cell(subject, &times, 1, " ms");
        memory.cell(subject, &sizes, 1, " MiB");
        if subject == Subject::Linux {
            cpu.judge(&times, |millis| millis <= 20.0);
            memory.judge(&sizes, |size| size <= 5.0);
        }
        let addresses: Spread = runs.iter().map(|run| run.stacks.addresses as f64).collect();
        let wall: Spread = runs.iter().map(|run| run.number("wall") * 1e3).collect();
        if !addresses.is_empty() {
            cpu.note(format!(
                "{} had {} locations and took {} ms of wall time",
                subject.name(),
                addresses.show(0),
                wall.show(0)
            ));
        }
    }
    vec![cpu, memory]
}
