//! The power fails at every moment, and the disk keeps what it is free to keep:
//! what is found then reads as a whole capture or as none.
//!
//! What a store does is written down call by call, through the seam; a pure
//! model says for each moment what may be on the disk; and each of these states
//! is made for real, and looked at by a reader and by the next store. `cargo
//! test -p tachograph-storage-posix --test power_loss -- --nocapture` prints the
//! figures.

#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
mod disk;
#[path = "../common/faulty.rs"]
mod faulty;
mod journal;
mod judgement;
#[path = "../common/memory.rs"]
mod memory;
mod scenario;

use std::collections::BTreeMap;

use disk::{Event, Id};
use faulty::{Fault, Faulty, How, System};
use journal::Line;
use judgement::{Judged, judge};
use rustix::io::Errno;
use scenario::{Scenario, Start};
use tachograph_storage_posix::seam::Operation;

fn undisturbed(system: System) -> std::sync::Arc<Faulty> {
    Faulty::new(system, [])
}

/// Every capture that goes well, and every one that fails at some call.
fn all_scenarios() -> Vec<Scenario> {
    let systems = [
        System::Ordinary,
        System::RenamesInTwoSteps,
        System::WritesShort,
    ];
    let mut all: Vec<_> = systems
        .iter()
        .flat_map(|&system| {
            [Start::Missing, Start::Leftovers]
                .map(|start| Scenario::run(start, undisturbed(system)))
        })
        .collect();
    for system in [System::Ordinary, System::RenamesInTwoSteps] {
        let hook = undisturbed(system);
        Scenario::run(Start::Leftovers, hook.clone());
        for (at, seen) in hook.seen().iter().enumerate() {
            if seen.phase != "publish" {
                continue;
            }
            let ways: &[How] = match seen.operation {
                Operation::Rename | Operation::Link | Operation::Remove | Operation::Sync => {
                    &[How::Once, How::AfterTheEffect, How::FromThenOn]
                }
                _ => &[How::Once, How::FromThenOn],
            };
            for &how in ways {
                let errno = Errno::IO;
                let hook = Faulty::new(system, [Fault { at, how, errno }]);
                all.push(Scenario::run(Start::Leftovers, hook));
            }
        }
    }
    all
}

#[test]
#[allow(clippy::print_stdout, reason = "these are the figures")]
fn whole_or_none() {
    let mut judged = Judged::default();
    for scenario in &all_scenarios() {
        judge(scenario, &mut judged);
    }
    println!(
        "states: {} at {} moments; failures: {}",
        judged.states.len(),
        judged.moments,
        judged.failures().len()
    );
    assert!(judged.failures().is_empty(), "{:#?}", judged.failures());
}

/// How many bad states there are once `break_it` has meddled with the journal.
fn bad_states(scenario: &Scenario, break_it: impl FnOnce(&mut Vec<Line>)) -> usize {
    let mut scenario = scenario.clone();
    break_it(&mut scenario.lines);
    let mut judged = Judged::default();
    judge(&scenario, &mut judged);
    judged.failures().len()
}

/// Where the syncs are in a journal, and of what.
fn syncs(lines: &[Line]) -> Vec<(usize, Id)> {
    let all = lines.iter().enumerate();
    all.filter_map(|(at, line)| match line {
        Line::Done(Event::Sync(id)) => Some((at, *id)),
        _ => None,
    })
    .collect()
}

#[test]
fn no_sync_can_be_spared() {
    let missing = Scenario::run(Start::Missing, undisturbed(System::Ordinary));
    let syncs = syncs(&missing.lines);
    // Two directories into their parents; then, for each of two captures, both
    // files and twice the directory.
    assert_eq!(syncs.len(), 2 + 2 * 4, "{syncs:?}");
    assert_eq!(bad_states(&missing, |_| {}), 0);
    for (nth, &(at, _)) in syncs.iter().enumerate() {
        let bad = bad_states(&missing, |lines| {
            lines.remove(at);
        });
        assert!(bad > 0, "sync {nth} makes no difference");
    }
}

#[test]
fn the_sync_between_both_removals_cannot_be_spared() {
    let hook = undisturbed(System::Ordinary);
    Scenario::run(Start::Leftovers, hook.clone());
    let seen = hook.seen();
    let last_sync = seen
        .iter()
        .position(|seen| seen.operation == Operation::Sync && seen.syncs_in_phase == 3);
    let fault = Fault {
        at: last_sync.expect("it is synced"),
        how: How::Once,
        errno: Errno::IO,
    };
    let failing = Scenario::run(Start::Leftovers, Faulty::new(System::Ordinary, [fault]));
    assert_eq!(bad_states(&failing, |_| {}), 0);
    let is_withdrawn = |line: &Line| matches!(line, Line::Withdrawn(_));
    let end = failing
        .lines
        .iter()
        .position(is_withdrawn)
        .expect("it fails");
    let syncs: Vec<_> = syncs(&failing.lines[..end]);
    // The last two: after the profile's removal, and after the sidecar's.
    let (between, _) = syncs[syncs.len() - 2];
    let bad = bad_states(&failing, |lines| {
        lines.remove(between);
    });
    assert!(bad > 0);
}

#[test]
fn the_order_of_both_renames_matters() {
    let scenario = Scenario::run(Start::Missing, undisturbed(System::Ordinary));
    let bad = bad_states(&scenario, |lines| {
        let renames: BTreeMap<_, _> = lines
            .iter()
            .cloned()
            .enumerate()
            .filter(
                |(_, line)| matches!(line, Line::Done(Event::Names(changes)) if changes.len() == 2),
            )
            .collect();
        let (sidecar, profile) = {
            let mut at = renames.keys();
            (*at.next().expect("two"), *at.next().expect("two"))
        };
        lines.swap(sidecar, profile);
    });
    assert!(bad > 0);
}

#[test]
fn a_promise_too_early_is_noticed() {
    let scenario = Scenario::run(Start::Missing, undisturbed(System::Ordinary));
    let bad = bad_states(&scenario, |lines| {
        let published = |line: &Line| matches!(line, Line::Published(_));
        let at = lines.iter().position(published).expect("it is published");
        lines.swap(at - 1, at);
    });
    assert!(bad > 0);
}
