//! No call that may block is made from a poll of the driver: counted, since a
//! clock would only tell how loaded the machine is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};

use tachograph_core::Application;
use tachograph_core::testing::QueuedOffload;
use tachograph_test_support::Witness;

use crate::support::{Bench, end, new};

#[test]
fn every_call_that_may_block_is_offloaded() {
    let bench = Bench::new();
    let offload = QueuedOffload::new();
    let offloaded = Arc::new(AtomicU32::new(0));
    let from_a_poll = Arc::new(AtomicU32::new(0));
    let witness = {
        let (offload, offloaded) = (offload.clone(), Arc::clone(&offloaded));
        let from_a_poll = Arc::clone(&from_a_poll);
        Witness::new(move || {
            let count = if offload.is_running() {
                &offloaded
            } else {
                &from_a_poll
            };
            count.fetch_add(1, Ordering::SeqCst);
        })
    };
    let store = witness.store(bench.store());
    let mut parts = bench.parts_on(store, offload.clone());
    parts.sampler = Arc::new(witness.sampler(bench.sampler.clone()));
    let asked = witness.clone();
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
    assert_eq!(from_a_poll.load(Ordering::SeqCst), 0);
    // Two captures, each with 29 looks at the session.
    assert!(offloaded.load(Ordering::SeqCst) > 80);
}
