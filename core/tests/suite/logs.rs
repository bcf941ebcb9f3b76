//! What is logged: one line for each thing that happens, under one target.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use tachograph_core::ErrorKind;
use tachograph_core::testing::{Fault, SamplerCall};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::{Bench, MINUTE, at};

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

#[test]
fn one_line_each_and_one_warning_at_the_end() {
    let lines = Lines::default();
    let bench = Bench::new();
    let busy = Fault::Error(ErrorKind::Busy);
    bench.sampler.fault(2, SamplerCall::Start, busy);
    let broken = Fault::Error(ErrorKind::Sampling);
    bench.sampler.fault(3, SamplerCall::Stop, broken);
    tracing::subscriber::with_default(lines.clone(), || {
        let (recorder, mut simulation) = bench.start(bench.parts());
        for _ in 0..2 {
            // Both have a bad name; one warning is enough.
            drop(recorder.task("periodic", async {}));
        }
        for minute in [6, 12] {
            simulation.run_until(at(minute * MINUTE));
            recorder.request("backup").expect("a good reason");
        }
        simulation.run_until(at(20 * MINUTE));
        assert!(simulation.run_to_end(recorder.stop()));
    });
    let lines = lines.0.lock().expect("unpoisoned");
    let expected = [
        "INFO message=recording enabled until=2026-11-30T02:00:00Z",
        "INFO message=capture started file=20261130T000000.000000000Z.pprof reason=\"periodic\"",
        "WARN message=task runs unlabelled error=the name \"periodic\" is reserved",
        "INFO message=capture saved file=20261130T000000.000000000Z.pprof reason=\"periodic\" \
         duration=30s bytes=13 samples=3000",
        "INFO message=capture started file=20261130T000600.000000000Z.pprof reason=\"backup\"",
        "WARN message=capture skipped cause=injected fault: session 2 at Start reason=\"backup\"",
        "INFO message=capture started file=20261130T001200.000000000Z.pprof reason=\"backup\"",
        "WARN message=recording ended why=failed: injected fault: session 3 at Stop",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line:?} is not {expected:?}");
    }
}
