//! What a capture keeps in memory, and what it leaves there.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut idle = Row::new("extra resident memory, idle", "≤ 0.3 MiB").limited_by(
        "The same measure says 0.12 without any sampler. On another machine of this kind it was \
             0.29 in all.",
    );
    let mut capturing = Row::new("extra resident memory, capturing", "≤ 6 MiB")
        .limited_by("It is the ring, copies of unwind tables, and the counted stacks.");
    let mut ending = Row::new("extra resident memory, while it ends", "");
    let mut after = Row::new("extra resident memory, after", "≤ 1 MiB").limited_by(
        "Most of it is clean pages of the program's and the libraries' own files, which the \
             kernel takes back when it needs them: code that ran for the first time, and unwind \
             tables, which are read where they are mapped, with the neighbours that a fault brings \
             along. The rest is what the allocator keeps (see below); the ring, the copies of \
             tables and the sampler's thread are gone. Telling the kernel to drop those pages \
             (MADV_PAGEOUT) was not done: it would throw them out of the page cache, and the next \
             capture would read from the disk.",
    );
    let values = [("hz", 100.0), ("seconds", bench.seconds(1.5))];
    for subject in [Subject::Nothing].into_iter().chain(Subject::COLUMNS) {
        if subject == Subject::Perf {
            continue;
        }
        let runs = bench.runs(3, subject, "memory", &values);
        for (row, name, bar) in [
            (&mut idle, "idle", 0.3),
            (&mut capturing, "capturing", 6.0),
            (&mut ending, "ending", f64::INFINITY),
            (&mut after, "after", 1.0),
        ] {
            let sizes: Spread = runs.iter().map(|run| run.number(name) / MIB).collect();
            match subject {
                Subject::Nothing => {
                    row.note(format!("{} MiB under nothing at all", sizes.show(2)));
                }
                _ => row.cell(subject, &sizes, 2, " MiB"),
            }
            if subject == Subject::Linux {
                row.judge(&sizes, |size| size <= bar);
            }
        }
        if !runs.is_empty() && subject != Subject::Nothing {
            let private: Spread = runs
                .iter()
                .map(|run| run.number("after private") / MIB)
                .collect();
            if !private.is_empty() {
                let private = private.show(2);
                after.note(format!(
                    "{}: {private} MiB of it are no pages of files",
                    subject.name()
                ));
            }
        }
    }
    vec![idle, capturing, ending, after]
}
