//! What must hold after every history.

use std::fmt;

mod bounds;
mod directory;
mod ends;
mod model;
mod times;

use crate::history::History;
use crate::record::Record;
use crate::timeline::Timeline;

/// Something that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// A recorder starts inside of its window and alone in its directory;
    /// everybody else is told why not.
    StartsOnlyWhenAllowed,
    /// No capture starts after the deadline by either clock.
    StartsBeforeTheDeadline,
    /// Capture starts are never closer than the cooldown.
    KeepsTheCooldown,
    /// Nor are they across a restart.
    KeepsTheCooldownAcrossRestarts,
    /// Captures run one at a time, for no longer than their length, and nothing
    /// samples between them.
    SamplesNoLonger,
    /// Entries and bytes never exceed the limits through us.
    KeepsTheBudgets,
    /// No `.partial` and no profile without sidecar remains.
    LeavesNothingHalf,
    /// Nothing that is not ours was touched, and no complete capture.
    TouchesNothingElse,
    /// Each sidecar says what is true of its profile.
    TellsTheTruth,
    /// There is exactly one end, and one warning about it at most.
    EndsOnce,
    /// Stopping returns, soon.
    StopReturns,
    /// The directory is free and the sampler off, soon after the end.
    GivesEverythingBack,
    /// Status and refusals add up to what was asked.
    CountsAddUp,
    /// All of it went as the specification says.
    AgreesWithTheModel,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::StartsOnlyWhenAllowed,
        Self::StartsBeforeTheDeadline,
        Self::KeepsTheCooldown,
        Self::KeepsTheCooldownAcrossRestarts,
        Self::SamplesNoLonger,
        Self::KeepsTheBudgets,
        Self::LeavesNothingHalf,
        Self::TouchesNothingElse,
        Self::TellsTheTruth,
        Self::EndsOnce,
        Self::StopReturns,
        Self::GivesEverythingBack,
        Self::CountsAddUp,
        Self::AgreesWithTheModel,
    ];

    fn check(self, case: &Case<'_>) -> Result<(), String> {
        match self {
            Self::StartsOnlyWhenAllowed => times::starts_only_when_allowed(case),
            Self::StartsBeforeTheDeadline => times::starts_before_the_deadline(case),
            Self::KeepsTheCooldown => times::keeps_the_cooldown(case),
            Self::KeepsTheCooldownAcrossRestarts => times::keeps_the_cooldown_across_restarts(case),
            Self::SamplesNoLonger => bounds::samples_no_longer(case),
            Self::KeepsTheBudgets => bounds::keeps_the_budgets(case),
            Self::LeavesNothingHalf => directory::leaves_nothing_half(case),
            Self::TouchesNothingElse => directory::touches_nothing_else(case),
            Self::TellsTheTruth => directory::tells_the_truth(case),
            Self::EndsOnce => ends::ends_once(case),
            Self::StopReturns => ends::stop_returns(case),
            Self::GivesEverythingBack => ends::gives_everything_back(case),
            Self::CountsAddUp => ends::counts_add_up(case),
            Self::AgreesWithTheModel => model::agrees_with_the_model(case),
        }
    }
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What was seen instead.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

/// A history and what was seen of it.
struct Case<'a> {
    history: &'a History,
    timeline: Timeline,
    record: &'a Record,
}

/// What did not hold when `history` was played and `record` was seen.
pub fn judge(history: &History, record: &Record) -> Vec<Violation> {
    let case = Case {
        history,
        timeline: Timeline::new(history),
        record,
    };
    let broken = Invariant::ALL.into_iter().filter_map(|invariant| {
        let what = invariant.check(&case).err()?;
        Some(Violation { invariant, what })
    });
    broken.collect()
}

/// Fails with the formatted text unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}
use ensure;
