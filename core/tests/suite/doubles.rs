//! The doubles keep the contracts that they stand in for.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime};

use futures::executor::block_on;
use futures::future::BoxFuture;
use tachograph_core::testing::conformance::{self, StoreFixture};
use tachograph_core::testing::{
    DelayedOffload, FaultySnapshot, FaultyStore, InlineOffload, ManualClock, MemoryDirectory,
    MemoryStore, QueuedOffload, ScriptedSampler, Simulation,
};
use tachograph_core::{Application, Error, Store};

#[test]
fn manual_clock() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let simulated = clock.clone();
    conformance::clock(Arc::new(clock), &mut |future: BoxFuture<'static, ()>| {
        assert!(Simulation::new(simulated.clone()).run_to_end(future));
    });
}

#[test]
fn inline_offload() {
    conformance::offload(Arc::new(InlineOffload), &mut |future| block_on(future));
}

#[test]
fn delayed_offload() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let delay = Duration::from_millis(5);
    let offload = DelayedOffload::new(clock.clone(), delay);
    conformance::offload(Arc::new(offload), &mut |future: BoxFuture<'static, ()>| {
        assert!(Simulation::new(clock.clone()).run_to_end(future));
    });
}

#[test]
fn queued_offload() {
    let offload = QueuedOffload::new();
    let served = offload.clone();
    conformance::offload(Arc::new(offload), &mut |mut future: BoxFuture<
        'static,
        (),
    >| {
        let mut context = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut context).is_pending() {
            assert!(served.run_next(), "it waits for nothing");
        }
    });
}

#[test]
fn scripted_sampler() {
    let count = |profile: &[u8]| {
        let text = std::str::from_utf8(profile).expect("a line of text");
        let digits = text.split(' ').next().expect("a first word");
        digits.parse().expect("a number")
    };
    conformance::sampler(&ScriptedSampler::new(), &count, &|| {});
}

#[test]
fn faulty_snapshot_without_its_fault() {
    let source = Arc::new(FaultySnapshot::new(u64::MAX, None));
    conformance::snapshot_source(source, &mut |future| block_on(future));
}

impl StoreFixture for Fixture {
    fn open(&self) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(MemoryStore::open(&self.0)?))
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        self.0.put(name, bytes);
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.read(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

struct Fixture(MemoryDirectory);

#[test]
fn memory_store() {
    conformance::store(&|| Fixture(MemoryDirectory::new()));
}

struct FaultyFixture(Fixture);

impl StoreFixture for FaultyFixture {
    fn open(&self) -> Result<Box<dyn Store>, Error> {
        let inner = MemoryStore::open(&self.0.0)?;
        Ok(Box::new(FaultyStore::new(inner, [])))
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        self.0.put(name, bytes);
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.read(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

#[test]
fn faulty_store_without_faults() {
    conformance::store(&|| FaultyFixture(Fixture(MemoryDirectory::new())));
}

#[test]
fn application_snapshot() {
    let source = Application::new(Arc::new(InlineOffload), || 7.into());
    conformance::snapshot_source(Arc::new(source), &mut |future| block_on(future));
}
