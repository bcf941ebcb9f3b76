//! A part behind an `Arc` is that part: nothing is lost on the way.

use std::sync::Arc;
use std::time::SystemTime;

use futures::executor::block_on;
use futures::future::BoxFuture;
use tachograph_core::testing::conformance::{self, StoreFixture};
use tachograph_core::testing::{
    InlineOffload, ManualClock, MemoryDirectory, MemoryStore, Simulation,
};
use tachograph_core::{Application, Error, SnapshotSource, Store};

#[test]
fn clock() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let shared = Arc::new(Arc::new(clock.clone()));
    conformance::clock(shared, &mut |future: BoxFuture<'static, ()>| {
        assert!(Simulation::new(clock.clone()).run_to_end(future));
    });
}

#[test]
fn offload() {
    let shared = Arc::new(Arc::new(InlineOffload));
    conformance::offload(shared, &mut |future| block_on(future));
}

#[test]
fn snapshot_source() {
    let shared = Arc::new(Application::new(Arc::new(InlineOffload), || 7.into()));
    let snapshot = block_on(SnapshotSource::snapshot(&shared)).expect("a number");
    assert_eq!(snapshot.pool, Some(7.into()));
}

struct Fixture(MemoryDirectory);

impl StoreFixture for Fixture {
    fn open(&self) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(Arc::new(MemoryStore::open(&self.0)?)))
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
fn store() {
    conformance::store(&|| Fixture(MemoryDirectory::new()));
}

#[test]
fn a_store_that_others_hold_is_closed_all_the_same() {
    let directory = MemoryDirectory::new();
    let held = Arc::new(MemoryStore::open(&directory).expect("the directory is free"));
    Store::close(&held);
    assert!(!directory.is_held());
}
