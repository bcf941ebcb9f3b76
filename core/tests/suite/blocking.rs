//! No call that may block is made from a poll of the driver: counted, since a
//! clock would only tell how loaded the machine is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};

use tachograph_core::store::{CaptureName, Recovery, StagedCapture, Usage};
use tachograph_core::testing::QueuedOffload;
use tachograph_core::{
    Application, CappedWriter, Error, Sampler, SamplerInfo, Samples, Session, Span, Store, Truth,
};

use crate::support::{Bench, end, new};

/// Counts the calls that may block, by where they are made from.
#[derive(Clone)]
struct Counter {
    offload: QueuedOffload,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    offloaded: AtomicU32,
    from_a_poll: AtomicU32,
}

impl Counter {
    fn call(&self) {
        let count = if self.offload.is_running() {
            &self.counts.offloaded
        } else {
            &self.counts.from_a_poll
        };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// A part whose every call, and whose drop, may block.
struct Blocking<T> {
    inner: Option<T>,
    counter: Counter,
}

impl<T> Blocking<T> {
    fn new(inner: T, counter: &Counter) -> Self {
        Self {
            inner: Some(inner),
            counter: counter.clone(),
        }
    }

    fn call(&self) -> &T {
        self.counter.call();
        self.inner.as_ref().expect("not taken")
    }

    fn take(mut self) -> T {
        self.counter.call();
        self.inner.take().expect("not taken")
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        self.counter.call();
    }
}

impl<S: Store> Store for Blocking<S> {
    fn recover(&self) -> Result<Recovery, Error> {
        self.call().recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        self.call().usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        let staged = self.call().stage(name)?;
        Ok(Box::new(Blocking::new(staged, &self.counter)))
    }

    fn close(&self) {
        self.call().close();
    }
}

impl StagedCapture for Blocking<Box<dyn StagedCapture>> {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        self.take().publish(sidecar, profile)
    }
}

struct BlockingSampler<S> {
    inner: S,
    counter: Counter,
}

impl<S: Sampler> Sampler for BlockingSampler<S> {
    fn info(&self) -> SamplerInfo {
        self.inner.info()
    }

    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        self.counter.call();
        let session = self.inner.start(frequency_hz)?;
        Ok(Box::new(Blocking::new(session, &self.counter)))
    }
}

impl Session for Blocking<Box<dyn Session>> {
    fn check(&self) -> Result<(), Error> {
        self.call().check()
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        let counter = self.counter.clone();
        let samples = self.take().stop()?;
        Ok(Box::new(Blocking::new(samples, &counter)))
    }
}

impl Samples for Blocking<Box<dyn Samples>> {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        self.take().encode(span, profile)
    }
}

#[test]
fn every_call_that_may_block_is_offloaded() {
    let bench = Bench::new();
    let offload = QueuedOffload::new();
    let counter = Counter {
        offload: offload.clone(),
        counts: Arc::default(),
    };
    let store = Blocking::new(bench.store(), &counter);
    let mut parts = bench.parts_on(store, offload.clone());
    parts.sampler = Arc::new(BlockingSampler {
        inner: bench.sampler.clone(),
        counter: counter.clone(),
    });
    let asked = counter.clone();
    let source = Application::new(Arc::new(offload.clone()), move || {
        asked.call();
        7.into()
    });
    parts.snapshot_sources.push(Arc::new(source));
    let (recorder, driver) = new(parts);

    let mut driver = Box::pin(driver);
    let mut context = Context::from_waker(Waker::noop());
    while driver.as_mut().poll(&mut context).is_pending() {
        if !offload.run_next() {
            if bench.directory.captures().len() == 2 {
                drop(recorder.stop());
            } else {
                let due = bench.clock.next_due().expect("it waits for something");
                bench.clock.advance_to(due);
            }
        }
    }
    drop(driver);
    while offload.run_next() {}

    assert_eq!(end(&recorder), tachograph_core::End::Stopped);
    let counts = &counter.counts;
    assert_eq!(counts.from_a_poll.load(Ordering::SeqCst), 0);
    // Two captures, each with 29 looks at the session.
    assert!(counts.offloaded.load(Ordering::SeqCst) > 80);
}
