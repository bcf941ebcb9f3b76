//! The doubles keep the contracts that they stand in for.

use std::sync::Arc;
use std::time::SystemTime;

use futures::executor::block_on;
use futures::future::BoxFuture;
use tachograph_core::testing::conformance::{self, StoreFixture};
use tachograph_core::testing::{
    FaultySnapshot, InlineOffload, ManualClock, MemoryDirectory, MemoryStore, ScriptedSampler,
    Simulation,
};
use tachograph_core::{Error, Store};

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
