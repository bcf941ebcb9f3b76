//! The driver dropped at every await point: the sampler stops, nothing
//! half-written stays, and the store is let go last.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use crate::support::{Bench, new};
use futures::FutureExt;
use tachograph_core::store::{CaptureName, Recovery, StagedCapture, Usage};
use tachograph_core::testing::{Fault, MemoryStore, QueuedOffload, SamplerCall, ScriptedSampler};
use tachograph_core::{Application, Clock, Driver, End, Error, ErrorKind, State, Store};

/// A store that notes in which state it was let go.
struct Witness {
    inner: MemoryStore,
    sampler: ScriptedSampler,
    closed: Arc<Mutex<Vec<Closed>>>,
    directory: tachograph_core::testing::MemoryDirectory,
}

#[derive(Debug, PartialEq, Eq)]
struct Closed {
    sampler_was_running: bool,
    partials: usize,
}

impl Store for Witness {
    fn recover(&self) -> Result<Recovery, Error> {
        self.inner.recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        self.inner.usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        self.inner.stage(name)
    }

    fn close(&self) {
        let names = self.directory.names();
        self.closed.lock().expect("unpoisoned").push(Closed {
            sampler_was_running: self.sampler.is_running(),
            partials: names.iter().filter(|it| it.ends_with(".partial")).count(),
        });
        self.inner.close();
    }
}

/// What becomes of offloaded work that is outstanding when the driver goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It runs after the drop.
    Runs,
    /// It ran before the drop, but the driver did not see its result.
    RanUnseen,
    /// The runtime shuts down and drops it unrun.
    IsRefused,
}

/// What the driver lives through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// A capture, and then a stop.
    Capture,
    /// The same, after a capture that somebody else's profiling made it skip.
    SkippedThenCapture,
    /// A stop when the first capture is staged, but sampling has not begun.
    StoppedEarly,
}

impl Story {
    fn wants_stop(self, bench: &Bench) -> bool {
        match self {
            Self::Capture | Self::SkippedThenCapture => bench.directory.captures().len() == 1,
            Self::StoppedEarly => !bench.directory.names().is_empty(),
        }
    }
}

/// Lets a driver take `steps` steps of a story, drops it, and checks what is
/// left. Returns whether the driver was done before.
fn drop_after(steps: usize, story: Story, then: Then) -> bool {
    let bench = Bench::new();
    if story == Story::SkippedThenCapture {
        let busy = Fault::Error(ErrorKind::Busy);
        bench.sampler.fault(1, SamplerCall::Start, busy);
    }
    let offload = QueuedOffload::new();
    let closed = Arc::new(Mutex::new(Vec::new()));
    let store = Witness {
        inner: bench.store(),
        sampler: bench.sampler.clone(),
        closed: Arc::clone(&closed),
        directory: bench.directory.clone(),
    };
    let mut parts = bench.parts_on(store, offload.clone());
    let source = Application::new(Arc::new(offload.clone()), || 7.into());
    parts.snapshot_sources.push(Arc::new(source));
    let (recorder, driver) = new(parts);
    let mut driver = Box::pin(driver);
    let mut done = poll(driver.as_mut());
    let mut stopped = false;
    for _ in 0..steps {
        if done {
            break;
        }
        if !stopped && story.wants_stop(&bench) {
            stopped = true;
            drop(recorder.stop());
        } else if !offload.run_next() {
            let due = bench
                .clock
                .next_due()
                .expect("the driver waits for something");
            bench.clock.advance_to(due.max(bench.clock.now()));
        }
        done = poll(driver.as_mut());
    }
    if then == Then::RanUnseen {
        offload.run_next();
    }
    drop(driver);
    while match then {
        Then::Runs | Then::RanUnseen => offload.run_next(),
        Then::IsRefused => offload.refuse_next(),
    } {}

    let context = format!("after {steps} steps of {story:?}, {then:?}");
    assert!(!bench.sampler.is_running(), "{context}: still sampling");
    for name in bench.directory.names() {
        assert!(!name.ends_with(".partial"), "{context}: {name} was left");
    }
    bench.directory.captures();
    assert!(!bench.directory.is_held(), "{context}: still held");
    assert_eq!(
        *closed.lock().expect("unpoisoned"),
        [Closed {
            sampler_was_running: false,
            partials: 0
        }],
        "{context}"
    );
    assert!(
        recorder.stop().now_or_never().is_some(),
        "{context}: nobody was told"
    );
    let expected = if done { End::Stopped } else { End::Abandoned };
    assert_eq!(recorder.status().state, State::Ended(expected), "{context}");
    done
}

fn poll(driver: Pin<&mut Driver>) -> bool {
    driver
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn at_every_await_point_whatever_becomes_of_outstanding_work() {
    for (story, least) in [
        // recover, usage, stage, snapshot, start, 29 looks at the clock with as
        // many checks of the session, stop, snapshot, encode, publish, stop.
        (Story::Capture, 60),
        (Story::SkippedThenCapture, 65),
        (Story::StoppedEarly, 5),
    ] {
        for then in [Then::Runs, Then::RanUnseen, Then::IsRefused] {
            let mut steps = 0;
            while !drop_after(steps, story, then) {
                steps += 1;
                assert!(steps < 1000, "the driver never ends");
            }
            assert!(steps >= least, "{story:?}: only {steps} points were tried");
        }
    }
}

#[test]
fn a_driver_that_was_never_polled_lets_go_too() {
    let bench = Bench::new();
    let (recorder, driver) = new(bench.parts());
    drop(driver);
    assert!(!bench.directory.is_held());
    assert_eq!(recorder.status().state, State::Ended(End::Abandoned));
    assert!(recorder.stop().now_or_never().is_some());
}

#[test]
fn dropping_runs_no_blocking_call_on_the_dropping_thread() {
    // With a queue that nobody serves, nothing of the clean-up may have run.
    let bench = Bench::new();
    let offload = QueuedOffload::new();
    let (_recorder, driver) = new(bench.parts_on(bench.store(), offload.clone()));
    let mut driver = Box::pin(driver);
    while !bench.sampler.is_running() {
        assert!(!poll(driver.as_mut()));
        assert!(offload.run_next());
    }
    assert!(!poll(driver.as_mut()));
    static RAN: AtomicBool = AtomicBool::new(false);
    drop(driver);
    assert!(bench.sampler.is_running());
    assert!(bench.directory.is_held());
    while offload.run_next() {
        RAN.store(true, Ordering::Relaxed);
    }
    assert!(RAN.load(Ordering::Relaxed));
    assert!(!bench.sampler.is_running());
    assert!(!bench.directory.is_held());
}
