//! What is logged: one line for each thing that happens, under one target.
//!
//! A program of its own, and one test at a time: whether anybody listens to a
//! line is remembered for the whole process, so that a recorder which logs to
//! nobody at the same moment can make lines disappear.

#[path = "suite/support.rs"]
mod support;

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use support::{Bench, MINUTE, at};
use tachograph_core::testing::{Fault, SamplerCall};
use tachograph_core::{ErrorKind, Limits};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps every event as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("memory");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tachograph"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(level(event.metadata().level()).to_owned());
        event.record(&mut line);
        self.0.lock().expect("unpoisoned").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn level(level: &Level) -> &'static str {
    match *level {
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        _ => "other",
    }
}

impl Lines {
    /// Has `work` log here, and returns what it logged.
    fn of(work: impl FnOnce()) -> Vec<String> {
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = Self::default();
        tracing::subscriber::with_default(lines.clone(), work);
        let mut lines = lines.0.lock().expect("unpoisoned");
        std::mem::take(&mut lines)
    }
}

fn assert_start(lines: &[String], expected: &[&str]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line:?} is not {expected:?}");
    }
}

const ENABLED: &str = "INFO message=recording enabled until=2026-11-30T02:00:00Z";

#[test]
fn ends_that_are_no_failure_warn_once_too() {
    let lines = Lines::of(|| {
        let bench = Bench::new();
        for second in ["01", "02", "03"] {
            let name = format!("20261129T0000{second}.000000000Z.pprof.partial");
            bench.directory.put(&name, b"");
        }
        drop(bench.start(bench.parts()));
    });
    let warning = "WARN message=recording ended why=the process died during 3 captures in a row, \
                   so recording may be why: remove 20261129T000001.000000000Z.pprof.partial, ";
    assert_start(&lines, &[ENABLED, warning]);

    let lines = Lines::of(|| {
        let bench = Bench::new();
        let mut parts = bench.parts();
        parts.limits = Limits::builder().entries_max(2).build().expect("valid");
        bench.directory.put_other("somebody-elses");
        drop(bench.start(parts));
    });
    let warning = "WARN message=recording ended why=budget exhausted: the directory has 1 entries";
    assert_start(&lines, &[ENABLED, warning]);
}

#[test]
fn an_orderly_end_is_no_warning() {
    let lines = Lines::of(|| {
        let bench = Bench::new();
        let (recorder, mut simulation) = bench.start(bench.parts());
        assert!(simulation.run_to_end(recorder.stop()));
    });
    let expected = [
        ENABLED,
        "INFO message=capture started",
        "INFO message=capture saved",
        "INFO message=recording ended why=stopped",
    ];
    assert_start(&lines, &expected);
}

#[test]
fn a_dropped_driver_is_an_end_too() {
    let lines = Lines::of(|| {
        let bench = Bench::new();
        let (_recorder, simulation) = bench.start(bench.parts());
        drop(simulation);
    });
    let started = "INFO message=capture started";
    let ended = "INFO message=recording ended why=the recorder's driver was dropped";
    assert_start(&lines, &[ENABLED, started, ended]);
}

#[test]
fn one_line_each_and_one_warning_at_the_end() {
    let bench = Bench::new();
    let busy = Fault::Error(ErrorKind::Busy);
    bench.sampler.fault(2, SamplerCall::Start, busy);
    let broken = Fault::Error(ErrorKind::Sampling);
    bench.sampler.fault(3, SamplerCall::Stop, broken);
    let lines = Lines::of(|| {
        let (recorder, mut simulation) = bench.start(bench.parts());
        for _ in 0..3 {
            // All have a bad name; one warning is enough.
            drop(recorder.task("periodic", async {}));
        }
        for minute in [6, 12] {
            simulation.run_until(at(minute * MINUTE));
            recorder.request("backup").expect("a good reason");
        }
        simulation.run_until(at(20 * MINUTE));
        assert!(simulation.run_to_end(recorder.stop()));
    });
    let expected = [
        ENABLED,
        "INFO message=capture started file=20261130T000000.000000000Z.pprof reason=\"periodic\"",
        "WARN message=task runs unlabelled error=the name \"periodic\" is reserved",
        "INFO message=capture saved file=20261130T000000.000000000Z.pprof reason=\"periodic\" \
         duration=30s bytes=13 samples=3000",
        "INFO message=capture started file=20261130T000600.000000000Z.pprof reason=\"backup\"",
        "WARN message=capture skipped cause=injected fault: session 2 at Start reason=\"backup\"",
        "INFO message=capture started file=20261130T001200.000000000Z.pprof reason=\"backup\"",
        "WARN message=recording ended why=failed: injected fault: session 3 at Stop",
    ];
    assert_start(&lines, &expected);
}
