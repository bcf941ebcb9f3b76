//! Counting threads. Alone in its process, so that nobody else's come or go.
#![cfg(target_os = "linux")]

use std::sync::{Arc, Barrier};
use std::thread;

use futures::executor::block_on;
use tachograph_core::SnapshotSource;
use tachograph_core::testing::InlineOffload;
use tachograph_process::ProcessSnapshot;

#[test]
fn every_thread_counts_once() {
    let source = ProcessSnapshot::new(Arc::new(InlineOffload));
    let threads = || {
        let snapshot = block_on(source.snapshot()).expect("the work runs");
        snapshot.threads.expect("Linux can tell")
    };

    let before = threads();
    let all_counted = Arc::new(Barrier::new(6));
    let parked: Vec<_> = (0..5)
        .map(|_| {
            let all_counted = Arc::clone(&all_counted);
            thread::spawn(move || {
                all_counted.wait();
            })
        })
        .collect();
    assert_eq!(threads(), before + 5);
    all_counted.wait();
    for thread in parked {
        thread.join().expect("no panic");
    }
}
