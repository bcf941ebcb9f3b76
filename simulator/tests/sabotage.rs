//! Every invariant would notice: something is broken on purpose, and exactly
//! the invariant that is there for it says so.

use std::collections::BTreeSet;

use tachograph_simulator::{Invariant, Sabotage, generate, judge, play};

/// The invariants that each sabotage breaks.
fn targets(sabotage: Sabotage) -> &'static [Invariant] {
    match sabotage {
        Sabotage::LetIn | Sabotage::StartedLate => &[Invariant::StartsOnlyWhenAllowed],
        Sabotage::LateSampler => &[Invariant::StartsBeforeTheDeadline],
        Sabotage::ShortCooldown => &[
            Invariant::KeepsTheCooldown,
            Invariant::KeepsTheCooldownAcrossRestarts,
        ],
        Sabotage::ForgottenCapture => &[Invariant::KeepsTheCooldownAcrossRestarts],
        Sabotage::LongCapture => &[Invariant::SamplesNoLonger],
        Sabotage::HiddenUsage => &[Invariant::KeepsTheBudgets],
        Sabotage::LeftPartial | Sabotage::FullLeftover | Sabotage::LostSidecar => {
            &[Invariant::LeavesNothingHalf]
        }
        Sabotage::RemovedForeign | Sabotage::Evicted => &[Invariant::TouchesNothingElse],
        Sabotage::InventedSample => &[Invariant::TellsTheTruth],
        Sabotage::ToldTwice | Sabotage::LoudEnd => &[Invariant::EndsOnce],
        Sabotage::HungStop => &[Invariant::StopReturns],
        Sabotage::KeptLock => &[Invariant::GivesEverythingBack],
        Sabotage::UncountedRefusal | Sabotage::UncountedCapture => &[Invariant::CountsAddUp],
        Sabotage::SlowInterval | Sabotage::SwappedReason => &[Invariant::AgreesWithTheModel],
    }
}

/// More than any of them needs to be noticed.
const SEEDS: std::ops::Range<u64> = 1..40;

/// The invariants that `sabotage` breaks, looking at histories until those that
/// it is to break are among them.
fn broken_by(sabotage: Sabotage) -> BTreeSet<Invariant> {
    let mut broken = BTreeSet::new();
    for seed in SEEDS {
        let history = generate(seed);
        let record = play(&history, Some(sabotage)).expect("a valid policy and limits");
        broken.extend(judge(&history, &record).into_iter().map(|it| it.invariant));
        if targets(sabotage).iter().all(|it| broken.contains(it)) {
            break;
        }
    }
    broken
}

#[test]
fn each_sabotage_is_noticed_by_what_is_there_for_it_and_by_nothing_else() {
    let mut wrong = Vec::new();
    for sabotage in Sabotage::ALL {
        let mut broken = broken_by(sabotage);
        let targets: BTreeSet<_> = targets(sabotage).iter().copied().collect();
        if !targets.contains(&Invariant::AgreesWithTheModel) {
            // The model knows all that is to happen, so it may notice too.
            broken.remove(&Invariant::AgreesWithTheModel);
        }
        if broken != targets {
            wrong.push(format!("{sabotage:?} broke {broken:?}, not {targets:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_invariant_has_a_sabotage() {
    let targets = Sabotage::ALL.into_iter().flat_map(targets);
    assert_eq!(
        targets.copied().collect::<BTreeSet<_>>(),
        BTreeSet::from(Invariant::ALL)
    );
}
