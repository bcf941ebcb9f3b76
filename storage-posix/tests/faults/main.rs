//! Every error of the system at every call of the store and of its lock.
//!
//! A script of what a recorder asks of its store runs once for every call,
//! every error and every way to fail. `cargo test -p tachograph-storage-posix
//! --test faults -- --nocapture` prints the figures.

#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/faulty.rs"]
mod faulty;
mod judgement;
#[path = "../common/memory.rs"]
mod memory;
mod recorder;
mod sabotage;
mod script;

use std::collections::BTreeSet;

use faulty::{Fault, Faulty, How, Seen, System};
use judgement::{Judgement, judge_cleaning, judge_later, judge_outcome, judge_rest};
use rustix::io::Errno;
use script::{Place, Start};
use tachograph_storage_posix::seam::Operation;

const ERRORS: [Errno; 8] = [
    Errno::IO,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::MFILE,
    Errno::ACCESS,
    Errno::ROFS,
    Errno::INTR,
    Errno::NOENT,
];

/// Where faults strike: all through one script, and in the others where they
/// differ from that one.
const SETTINGS: [(Start, System, Option<&str>); 5] = [
    (Start::Leftovers, System::Ordinary, None),
    (Start::Leftovers, System::RenamesInTwoSteps, Some("publish")),
    (Start::Leftovers, System::WritesShort, Some("publish")),
    (Start::Missing, System::Ordinary, Some("open")),
    (Start::Missing, System::HasUmask, Some("open")),
];

/// The ways in which `errno` can come out of a call.
fn ways(seen: &Seen, system: System, errno: Errno) -> Vec<How> {
    // A call that was interrupted has done nothing, and may be asked for again.
    if errno == Errno::INTR {
        return vec![How::Once, How::Times(5)];
    }
    // A profile of old that somebody has removed takes its sidecar along.
    if errno == Errno::NOENT && seen.is_about(&common::name(1).profile()) {
        return Vec::new();
    }
    let has_effect = matches!(
        seen.operation,
        Operation::Rename
            | Operation::Link
            | Operation::Remove
            | Operation::Truncate
            | Operation::Sync
    ) && !(seen.operation == Operation::Rename
        && system == System::RenamesInTwoSteps);
    let mut ways = vec![How::Once];
    // Which error it is makes no difference to what comes of these.
    if errno == Errno::IO {
        ways.push(How::FromThenOn);
        if has_effect {
            ways.push(How::AfterTheEffect);
        }
    }
    ways
}

/// The calls of a script that meets no fault.
fn calls(start: Start, system: System) -> Vec<Seen> {
    let place = Place::new(start);
    let hook = Faulty::new(system, []);
    script::run(&place.path, &hook).expect("nothing goes wrong");
    judge_rest(&place).expect("nothing goes wrong");
    judge_later(&place).expect("nothing goes wrong");
    hook.seen()
}

fn judge_one(start: Start, system: System, fault: Fault) -> Judgement {
    let place = Place::new(start);
    let hook = Faulty::new(system, [fault]);
    let outcome = script::run(&place.path, &hook);
    let seen = hook.seen();
    let hit = &seen[fault.at];
    judge_outcome(&place, hit, fault, &outcome)
        .and_then(|()| judge_rest(&place))
        .and_then(|()| match fault.how {
            How::FromThenOn => Ok(()),
            how => judge_cleaning(&place, hit, how, &outcome),
        })
        .and_then(|()| judge_later(&place))
        .map_err(|why| format!("{start:?}, {system:?}, {fault:?} at {hit:?}: {why}"))
}

/// One fault in each script.
fn single_faults() -> Vec<Judgement> {
    let mut judged = Vec::new();
    for (start, system, phase) in SETTINGS {
        for (at, seen) in calls(start, system).iter().enumerate() {
            if phase.is_some_and(|phase| phase != seen.phase) {
                continue;
            }
            for errno in ERRORS {
                for how in ways(seen, system, errno) {
                    judged.push(judge_one(start, system, Fault { at, how, errno }));
                }
            }
        }
    }
    judged
}

/// A second fault in what is done about the first, where a capture is
/// published: a profile must not be left unexplained then, either.
fn double_faults() -> Vec<Judgement> {
    let once = |at| Fault {
        at,
        how: How::Once,
        errno: Errno::IO,
    };
    let mut judged = Vec::new();
    for system in [System::Ordinary, System::RenamesInTwoSteps] {
        let publishing = calls(Start::Leftovers, system);
        let publishing = (0..publishing.len()).filter(|&at| publishing[at].phase == "publish");
        for first in publishing.map(once) {
            let place = Place::new(Start::Leftovers);
            let hook = Faulty::new(system, [first]);
            let _ = script::run(&place.path, &hook);
            let cleaning = first.at + 1..hook.seen().len();
            for second in cleaning.map(once) {
                let place = Place::new(Start::Leftovers);
                let hook = Faulty::new(system, [first, second]);
                let _ = script::run(&place.path, &hook);
                let told = |why| {
                    let seen = hook.seen();
                    let (first, second) = (&seen[first.at], &seen[second.at]);
                    format!("{system:?}, {first:?}, {second:?}: {why}")
                };
                let judgement = judge_rest(&place).and_then(|()| judge_later(&place));
                judged.push(judgement.map_err(told));
            }
        }
    }
    judged
}

#[test]
#[allow(clippy::print_stdout, reason = "these are the figures")]
fn every_error_at_every_call() {
    let calls: BTreeSet<_> = SETTINGS
        .iter()
        .flat_map(|&(start, system, _)| calls(start, system))
        .map(|seen| seen.operation)
        .collect();
    let judged = [single_faults(), double_faults(), recorder::faults()].concat();
    let failures: Vec<_> = judged.iter().filter_map(|it| it.as_ref().err()).collect();
    println!(
        "faults: {} at {} kinds of calls; failures: {}",
        judged.len(),
        calls.len(),
        failures.len()
    );
    assert!(failures.is_empty(), "{failures:#?}");
    // Of all calls only one opens for writing what is there already, and so on:
    // none may have slipped out of the script.
    assert_eq!(calls.len(), 19, "{calls:?}");
}
