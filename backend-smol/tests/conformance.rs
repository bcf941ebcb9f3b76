//! The core's contracts, held by the parts of this backend.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tachograph_core::testing::conformance;
use tachograph_smol::{SmolClock, SmolOffload};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Calls `check` with a way to run a future, for every place where one can
/// run.
fn everywhere(check: impl Fn(&mut dyn FnMut(Task))) {
    check(&mut |task| smol::block_on(task));
    check(&mut |task| smol::block_on(smol::spawn(task)));
    check(&mut |task| {
        let executor = smol::Executor::new();
        smol::block_on(executor.run(executor.spawn(task)));
    });
    // An executor that drives no timers: async-io's own thread has to.
    check(&mut |task| smol::future::block_on(task));
}

#[test]
fn the_clock() {
    everywhere(|block_on| conformance::clock(Arc::new(SmolClock::new()), block_on));
}

#[test]
fn the_offload() {
    everywhere(|block_on| conformance::offload(Arc::new(SmolOffload::new()), block_on));
}
