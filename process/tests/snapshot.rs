//! What the system is asked, and how a sidecar shows it.
#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::hint::black_box;
use std::sync::Arc;

use futures::executor::block_on;
use tachograph_core::testing::{InlineOffload, conformance};
use tachograph_core::{ErrorKind, offload::Work};
use tachograph_core::{Offload, Snapshot, SnapshotSource};
use tachograph_process::ProcessSnapshot;

fn source() -> ProcessSnapshot {
    ProcessSnapshot::new(Arc::new(InlineOffload))
}

fn snapshot() -> Snapshot {
    block_on(source().snapshot()).expect("the work runs")
}

/// In whole microseconds, the resolution of the system.
fn micros(snapshot: &Snapshot) -> u64 {
    let cpu = snapshot.process_cpu.expect("this system can tell");
    ((cpu.user_seconds + cpu.system_seconds) * 1e6).round() as u64
}

#[test]
fn it_holds_the_contract() {
    conformance::snapshot_source(Arc::new(source()), &mut |task| block_on(task));
}

#[test]
fn burning_cpu_shows() {
    let before = micros(&snapshot());
    let grew = (0..10_000).any(|_| {
        for step in 0..100_000_u64 {
            black_box(step);
        }
        micros(&snapshot()) > before
    });
    assert!(grew, "a billion steps cost nothing");
}

#[test]
fn a_sidecar_shows_what_is_known_and_nothing_else() {
    let json = serde_json::to_value(snapshot()).expect("a snapshot is JSON");
    let fields: Vec<_> = json.as_object().expect("an object").keys().collect();
    if cfg!(target_os = "linux") {
        assert_eq!(fields, ["ProcessCPU", "Threads"]);
        assert!(json["Threads"].is_u64());
    } else {
        assert_eq!(fields, ["ProcessCPU"]);
    }
    let cpu = json["ProcessCPU"].as_object().expect("an object");
    let fields: Vec<_> = cpu.keys().collect();
    assert_eq!(fields, ["SystemSeconds", "UserSeconds"]);
    for seconds in cpu.values() {
        // No digits beyond those the system gave.
        let text = seconds.to_string();
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        assert!(seconds.is_f64() && fraction.len() <= 6, "{text}");
    }
}

#[test]
fn a_refusal_is_handed_on() {
    struct Refusing;

    impl Offload for Refusing {
        fn spawn(&self, work: Work) {
            drop(work);
        }
    }

    let refused = block_on(ProcessSnapshot::new(Arc::new(Refusing)).snapshot());
    let error = refused.expect_err("the work does not run");
    assert_eq!(error.kind(), ErrorKind::ShuttingDown);
}
