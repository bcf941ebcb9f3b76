//! Killed at every step: a process that records for real is killed before and
//! after each call that its store makes to the system; then a new recorder
//! starts on what is left. `cargo test -p tachograph-tests --test killed at_every
//! -- --nocapture` prints the figures.

#![cfg(target_os = "linux")]

mod judgement;
mod killer;
mod life;
mod made;
mod place;

use std::panic::{AssertUnwindSafe, catch_unwind};

use judgement::Flaw;
use killer::{Sabotage, Scope};
use life::{Death, Life};
use place::Place;

/// What is left, and what is wrong with it, if anything is.
fn judge(place: &Place, flaw: Flaw) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| judgement::judge(place, flaw))).map_err(|panic| {
        let formatted = panic.downcast_ref::<String>().cloned();
        let literal = panic.downcast_ref::<&str>().map(|why| (*why).to_owned());
        formatted.or(literal).unwrap_or_default()
    })
}

/// Kills a life at each moment in turn, until it is over before it is killed,
/// and judges what is left. Returns what was wrong, by the moment.
fn matrix(life: Life, place: impl Fn() -> Place) -> Vec<Option<String>> {
    let mut judged = Vec::new();
    loop {
        let place = place();
        let death = life.killed_at(judged.len(), place.path());
        let judgement = judge(&place, Flaw::None);
        if death == Death::OfAge {
            assert!(
                judgement.is_ok(),
                "even an undisturbed life is judged wrong"
            );
            return judged;
        }
        let wrong = judgement.err();
        let wrong = wrong.map(|why| format!("moment {}, {life:?}: {why}", judged.len()));
        judged.push(wrong);
    }
}

/// Kills three lives in a row in one place, at the same moment of each. Returns
/// how many of them left an unfinished profile.
fn three_deaths(at: usize) -> Option<(usize, Option<String>)> {
    let place = Place::empty();
    let life = Life {
        scope: Scope::FirstCapture,
        ..Life::default()
    };
    for _ in 0..3 {
        if life.killed_at(at, place.path()) == Death::OfAge {
            return None;
        }
    }
    let interrupted = place.interrupted().len();
    let wrong = judge(&place, Flaw::None).err();
    let wrong = wrong.map(|why| format!("three deaths at moment {at}: {why}"));
    Some((interrupted, wrong))
}

#[test]
#[allow(clippy::print_stdout, reason = "these are the figures")]
fn at_every_moment() {
    if life::is_one() {
        return life::live();
    }
    let of_scope = |scope| Life {
        scope,
        ..Life::default()
    };
    let real = Life {
        scope: Scope::FirstPublishing,
        has_real_sampler: true,
        ..Life::default()
    };
    let mut judged = matrix(Life::default(), Place::with_leftovers);
    judged.extend(matrix(of_scope(Scope::Opening), Place::missing));
    judged.extend(matrix(real, Place::with_leftovers));
    let once = judged.len();
    let deaths: Vec<_> = (0..).map_while(three_deaths).collect();
    let in_captures = deaths.iter().filter(|(left, _)| *left == 3).count();
    // Those from after the creation of the profile to before its rename.
    assert!(
        in_captures >= 30,
        "{in_captures} moments of {}",
        deaths.len()
    );
    let thrice = deaths.len();
    judged.extend(deaths.into_iter().map(|(_, wrong)| wrong));

    let failures: Vec<_> = judged.iter().flatten().collect();
    println!(
        "kills: {}, at {in_captures} moments of a capture three times in a row; failures: {}",
        once + 3 * thrice,
        failures.len()
    );
    assert!(failures.is_empty(), "{failures:#?}");
}

/// What is broken on purpose is noticed at some moment.
#[test]
fn each_sabotage_is_noticed() {
    let publishing = |sabotage| Life {
        scope: Scope::FirstPublishing,
        sabotage,
        ..Life::default()
    };
    let is_red = |life: Life, flaw: Flaw| {
        let mut at = 0;
        loop {
            let place = match flaw {
                Flaw::ForgetsTheInterrupted => Place::of_two_deaths(),
                _ => Place::with_leftovers(),
            };
            let death = life.killed_at(at, place.path());
            if death == Death::OfAge {
                return false;
            }
            if judge(&place, flaw).is_err() {
                return true;
            }
            at += 1;
        }
    };
    let unnoticed: Vec<_> = [
        (Sabotage::ProfileFirst, Flaw::None),
        (Sabotage::RemoveForeign, Flaw::None),
        (Sabotage::None, Flaw::Lives(Sabotage::ForgetRemoval)),
        (Sabotage::None, Flaw::Lives(Sabotage::ForgetEmptying)),
        (Sabotage::None, Flaw::ForgetsTheNewest),
        (Sabotage::None, Flaw::ForgetsTheInterrupted),
        (Sabotage::None, Flaw::CountsNothing),
        (Sabotage::None, Flaw::HoldsTheLock),
    ]
    .into_iter()
    .filter(|&(sabotage, flaw)| !is_red(publishing(sabotage), flaw))
    .collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
