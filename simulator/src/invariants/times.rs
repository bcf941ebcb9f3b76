//! When recorders and captures start.

use tachograph_core::store::CaptureName;
use tachograph_core::{ErrorKind, Window};

use super::{Case, ensure};
use crate::history::What;
use crate::parts::wall_ms;
use crate::record::Life;

pub(super) fn starts_only_when_allowed(case: &Case<'_>) -> Result<(), String> {
    let longest_ms = Window::LENGTH_MAX.as_millis() as i64;
    let lives = &case.record.lives;
    for refused in &case.record.refused {
        let ahead_ms = refused.until_ms - refused.started.wall_ms;
        let expected = if ahead_ms <= 0 {
            None
        } else if ahead_ms > longest_ms {
            Some(ErrorKind::Setting)
        } else {
            ensure!(refused.was_held, "no recorder, though it may: {refused:?}");
            Some(ErrorKind::InUse)
        };
        ensure!(
            refused.error == expected,
            "expected {expected:?}: {refused:?}"
        );
    }
    for (life, next) in lives.iter().zip(lives.iter().skip(1)) {
        let was_free = life.killed_ms.is_some()
            || life
                .given_back_ms
                .is_some_and(|free_ms| free_ms <= next.started.at_ms);
        ensure!(was_free, "two recorders at {:?}", next.started);
    }
    for life in &case.record.lives {
        let ahead_ms = life.start.until_ms - life.started.wall_ms;
        ensure!(
            (1..=longest_ms).contains(&ahead_ms),
            "a recorder with a window of {ahead_ms} ms"
        );
    }
    Ok(())
}

pub(super) fn starts_before_the_deadline(case: &Case<'_>) -> Result<(), String> {
    for life in &case.record.lives {
        let deadline_ms = life.started.at_ms as i64 + life.start.until_ms - life.started.wall_ms;
        for attempt in &life.seen.attempts {
            let named_ms = attempt.staged.map(|(name, _)| wall_ms(name.start()));
            if let Some(named_ms) = named_ms {
                ensure!(
                    named_ms < life.start.until_ms,
                    "decided at {named_ms} by the wall clock, deadline {}",
                    life.start.until_ms
                );
            }
            if let Some(asked) = attempt.sampler_asked {
                ensure!(
                    (asked.at_ms as i64) < deadline_ms && asked.wall_ms < life.start.until_ms,
                    "sampler started at {asked:?}, deadline {deadline_ms} and {} by the wall clock",
                    life.start.until_ms
                );
            }
        }
    }
    Ok(())
}

/// When each attempt of a life was decided on: the budget is looked at by the
/// first piece of blocking work after it.
fn decided_ms(life: &Life) -> impl Iterator<Item = u64> {
    let attempts = life.seen.attempts.iter();
    attempts.map(|attempt| attempt.looked.at_ms - life.start.lag_ms)
}

pub(super) fn keeps_the_cooldown(case: &Case<'_>) -> Result<(), String> {
    let cooldown_ms = case.history.rhythm.cooldown_ms;
    for life in &case.record.lives {
        for (one, next) in decided_ms(life).zip(decided_ms(life).skip(1)) {
            ensure!(next - one >= cooldown_ms, "starts at {one} and {next}");
        }
    }
    Ok(())
}

/// In true time: neither a stepped wall clock nor a sleeping machine may bring
/// two captures closer, except where the wall clock was stepped forward between
/// them, which nobody can know after a restart.
pub(super) fn keeps_the_cooldown_across_restarts(case: &Case<'_>) -> Result<(), String> {
    let cooldown_ms = case.history.rhythm.cooldown_ms;
    let lives = &case.record.lives;
    for (number, life) in lives.iter().enumerate() {
        let Some(first_ms) = decided_ms(life).next() else {
            continue;
        };
        let found = life.seen.found.iter().flatten();
        let found: Vec<_> = found.filter_map(|name| CaptureName::parse(name)).collect();
        for earlier in &lives[..number] {
            for (attempt, began_ms) in earlier.seen.attempts.iter().zip(decided_ms(earlier)) {
                let stands = attempt
                    .staged
                    .is_some_and(|(name, _)| found.iter().any(|(it, _)| *it == name));
                let was_stepped = case.history.events.iter().any(|event| {
                    (began_ms..=first_ms).contains(&event.at_ms)
                        && matches!(event.what, What::StepWall { by_ms } if by_ms > 0)
                });
                let apart_ms = case.timeline.true_ms(first_ms) - case.timeline.true_ms(began_ms);
                ensure!(
                    !stands || was_stepped || apart_ms >= cooldown_ms,
                    "starts at {began_ms} and, after a restart, {first_ms}: {apart_ms} ms apart"
                );
            }
        }
    }
    Ok(())
}
