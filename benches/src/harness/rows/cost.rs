//! What samples cost where they are taken, and what a capture costs besides.

use super::super::bench::{Bench, Run};
use super::super::spread::Spread;
use super::super::subjects::Subject;
use super::super::table::Row;

const HZ: f64 = 100.0;

/// The default length of a capture, over which its start and end are spread.
const CAPTURE_SECONDS: f64 = 30.0;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut handler = Row::new("handler a sample, in place, 16 KiB of stack", "≤ 4 µs")
        .limited_by(
            "Most of it is the copy of a stack that is in no near cache, as a stack at 100 Hz \
             seldom is. On a 2-CPU AMD EPYC with 512 KiB of cache each, after a walk through 4 MiB, \
             merely to read 16 KiB took 1.9 µs in the best tenth and 4.3 in the median of a busy \
             machine, and the copy 4.4 and 6.4. Tried there: copies by eight and by sixteen bytes, \
             and fetching both sides ahead, changed nothing; stores past the cache with the source \
             fetched ahead saved 0.9 µs, but then the thread that unwinds has to read from memory \
             what it finds in the shared cache now. The lowest free slots are used again already. \
             The system calls for the thread's name and for a second signal took 0.3 µs each.",
        );
    let mut sample = Row::new("a step with a signal, beyond one with a tick", "");
    let mut running = Row::new("all CPU of a capture, 100 Hz, of one busy core", "≤ 0.3 %")
        .limited_by(
            "A tenth of a per cent at 100 Hz is 10 µs a sample, and a signal alone takes 4. Half of \
             it is the sampler's thread, which wakes up 20 times a second with nothing in its \
             caches; by samples of it, a quarter is unwinding and a quarter waiting and waking up; a \
             sixth was looking at the number of threads, which it does no more. The other half is the handler and two \
             signals a period: one by the thread's timer, one by the process's, which finds the \
             thread armed. Stretching the period of the latter while it does so was rejected: a \
             thread that it then meets would count a multiple, and if the short period is back \
             from there on, more than the thread used in the mean; with intervals by chance, which \
             would be right in the mean, single threads would be off by that multiple.",
        );
    let mut ends = Row::new("CPU of start and end of that capture", "");

    let values = [("hz", HZ), ("seconds", bench.seconds(3.0))];
    let plain = bench.runs(3, Subject::Nothing, "cost", &values);
    let ticks: Spread = plain
        .iter()
        .map(|run| run.number("tick ns") / 1e3)
        .collect();
    for subject in Subject::COLUMNS {
        let runs = bench.runs(3, subject, "cost", &values);
        let micros =
            |name: &str| -> Spread { runs.iter().map(|run| run.number(name) / 1e3).collect() };
        if !matches!(subject, Subject::Go | Subject::Perf) {
            let times = micros("handler ns");
            handler.cell(subject, &times, 1, " µs");
            let whole = |run: &Run| run.number("signalled ns") / 1e3 - ticks.median();
            sample.cell(subject, &runs.iter().map(whole).collect(), 1, " µs");
            if subject == Subject::Linux {
                handler.judge(&times, |micros| micros <= 4.0);
            }
        }
        let shares: Spread = runs.iter().map(|run| share(subject, run)).collect();
        match subject {
            // Its handler cannot be timed from outside.
            Subject::Go => {
                running.cell(subject, &shares, 2, " % in other threads");
            }
            _ => running.cell(subject, &shares, 2, " %"),
        }
        let start_and_end: Spread = runs
            .iter()
            .map(|run| 1e3 * (run.number("cpu start") + run.number("cpu finish")))
            .collect();
        if subject != Subject::Perf {
            ends.cell(subject, &start_and_end, 1, " ms");
        }
        if subject == Subject::Linux {
            running.judge(&shares, |share| share <= 0.3);
            running.note(format!(
                "start and end add {:.3} points over {CAPTURE_SECONDS} s",
                start_and_end.median() / CAPTURE_SECONDS / 10.0
            ));
            notes(&mut handler, &runs);
        }
    }
    sample.note(format!(
        "the kernel's tick takes {} µs, without any profiler",
        ticks.show(1)
    ));
    vec![handler, sample, running, ends, switch(bench)]
}

/// Why perf events come second.
fn switch(bench: &mut Bench) -> Row {
    let mut row = Row::new("a switch between two threads on one CPU, 100 Hz", "");
    let values = [("hz", HZ), ("seconds", bench.seconds(0.3))];
    for subject in [
        Subject::Nothing,
        Subject::Linux,
        Subject::LinuxEvents,
        Subject::Pprof,
        Subject::Perf,
    ] {
        let runs = bench.runs(3, subject, "switch", &values);
        let times: Spread = runs
            .iter()
            .map(|run| run.number("switch ns") / 1e3)
            .collect();
        if Subject::COLUMNS.contains(&subject) {
            row.cell(subject, &times, 2, " µs");
        } else {
            row.note(format!("{} µs under {}", times.show(2), subject.name()));
        }
    }
    let values = [("hz", HZ), ("seconds", bench.seconds(3.0))];
    let runs = bench.runs(3, Subject::LinuxEvents, "cost", &values);
    let shares: Spread = runs
        .iter()
        .map(|run| share(Subject::LinuxEvents, run))
        .collect();
    let handler: Spread = runs
        .iter()
        .map(|run| run.number("handler ns") / 1e3)
        .collect();
    let values = [
        ("hz", 1000.0),
        ("threads", 1.0),
        ("seconds", bench.seconds(1.0)),
    ];
    let runs = bench.runs(3, Subject::LinuxEvents, "busy", &values);
    let ratios: Spread = runs
        .iter()
        .map(|run| run.stacks.count(|_| true) / (run.number("cpu") * 1000.0))
        .collect();
    row.note(format!(
        "sampler-linux takes perf events only where timers are refused: then a handler takes {} µs \
         and a capture {} %, without those of the switches; of the samples at 1000 Hz it finds {}",
        handler.show(1),
        shares.show(2),
        ratios.show(3)
    ));
    row
}

/// Percent of the busy thread's CPU time.
fn share(subject: Subject, run: &Run) -> f64 {
    let busy = run.number("cpu busy-0");
    let others = run.number("cpu others") / busy;
    let share = match subject {
        Subject::Perf => run.outside / busy,
        Subject::Go => others,
        _ => {
            let each = run.number("all handlers ns mean") + run.number("delivery ns");
            others + run.number("signals per s") * each / 1e9
        }
    };
    100.0 * share
}

fn notes(row: &mut Row, runs: &[Run]) {
    let Some(run) = runs.first() else {
        return;
    };
    row.note(format!(
        "{:.1} µs in nine of ten; {:.0} signals a second; {:.1} KiB of stack in use; a signal to \
         oneself with an empty handler takes {:.1} µs; other threads used {:.2} %",
        run.number("handler ns p90") / 1e3,
        run.number("signals per s"),
        run.number("stack") / 1024.0,
        run.number("delivery ns") / 1e3,
        100.0 * run.number("cpu others") / run.number("cpu busy-0")
    ));
}
