//! How recorders end, and what they say of themselves.

use tachograph_core::{End, Requests, Sidecar, State};

use super::{Case, ensure};
use crate::record::Life;

fn was_killed(life: &Life) -> bool {
    life.killed_ms.is_some()
}

/// How long a recorder may take to end once it is to: two snapshots of at most
/// 5 s, and fewer than a dozen pieces of blocking work.
fn patience_ms(life: &Life) -> u64 {
    2 * 5000 + 12 * life.start.lag_ms
}

pub(super) fn ends_once(case: &Case<'_>) -> Result<(), String> {
    for life in &case.record.lives {
        let lines = &life.end_lines;
        if was_killed(life) {
            ensure!(lines.len() <= 1, "a dead recorder ended: {lines:?}");
            continue;
        }
        ensure!(
            lines.len() == 1,
            "{} ends were told: {lines:?}",
            lines.len()
        );
        ensure!(
            life.ends.len() <= 1,
            "its status tells of several ends: {:?}",
            life.ends
        );
        let Some(end) = life.ends.first() else {
            ensure!(
                life.handles_dropped_ms.is_some(),
                "its status tells of no end: {:?}",
                life.status
            );
            continue;
        };
        let is_orderly = matches!(end, End::Deadline | End::Stopped | End::Abandoned);
        ensure!(
            lines[0].warns != is_orderly,
            "{end:?} was told as {lines:?}"
        );
        ensure!(
            lines[0].why == end.to_string(),
            "{end:?} was told as {lines:?}"
        );
        for warning in &life.warnings {
            let known = ["the process died during a capture", "task runs unlabelled"];
            ensure!(
                known.iter().any(|it| warning.starts_with(it)),
                "a warning of something else: {warning}"
            );
        }
    }
    Ok(())
}

pub(super) fn stop_returns(case: &Case<'_>) -> Result<(), String> {
    for life in case.record.lives.iter().filter(|life| !was_killed(life)) {
        for (asked_ms, returned_ms) in &life.stops {
            let Some(returned_ms) = returned_ms else {
                return Err(format!("the stop at {asked_ms} never returned"));
            };
            let took_ms = returned_ms - asked_ms;
            ensure!(
                took_ms <= patience_ms(life),
                "the stop at {asked_ms} took {took_ms} ms"
            );
        }
    }
    Ok(())
}

pub(super) fn gives_everything_back(case: &Case<'_>) -> Result<(), String> {
    for life in case.record.lives.iter().filter(|life| !was_killed(life)) {
        let began_ms = life.started.at_ms;
        let Some(free_ms) = life.given_back_ms else {
            return Err(format!("the directory of {began_ms} was never free again"));
        };
        let ended_ms = match (life.dropped, life.end_lines.first()) {
            (Some(dropped), _) => dropped.at_ms,
            (None, Some(line)) => line.at_ms,
            (None, None) => continue,
        };
        // What is held, and then the directory; after a drop also the work that
        // had just been handed over.
        let took_ms = free_ms - ended_ms;
        ensure!(
            took_ms <= 3 * life.start.lag_ms,
            "the directory of {began_ms} was held for {took_ms} ms after the end"
        );
        let early = life.seen.attempts.iter().any(|attempt| {
            attempt
                .sampling_until
                .is_some_and(|until| until.at_ms > free_ms)
        });
        ensure!(!early, "the directory was free before the sampler stopped");
    }
    Ok(())
}

pub(super) fn counts_add_up(case: &Case<'_>) -> Result<(), String> {
    for life in &case.record.lives {
        let Some(status) = &life.status else {
            continue;
        };
        let attempts = &life.seen.attempts;
        let saved = attempts.iter().filter(|it| it.saved.is_some()).count() as u64;
        // The last one may have been saved by work that outlived the driver.
        let fewest = saved - u64::from(life.dropped.is_some() && saved > 0);
        ensure!(
            (fewest..=saved).contains(&status.captures),
            "{} captures by its status, {saved} were saved",
            status.captures
        );
        ensure!(
            matches!(status.state, State::Ended(_)),
            "it is over, and says {:?}",
            status.state
        );
        let requested = attempts.iter().filter(|it| {
            it.reason
                .as_deref()
                .is_some_and(|reason| reason != "periodic")
        });
        let requested = requested.count() as u64;
        // A capture that came to nothing before it was logged tells no reason,
        // and can only be the last; one request may have waited at the end.
        let silent = attempts.iter().filter(|it| it.reason.is_none()).count() as u64;
        ensure!(silent <= 1, "{silent} captures without a reason");
        let dropped = status.dropped;
        let known = requested + dropped.cooldown + dropped.pending;
        ensure!(
            (known..=known + silent + 1).contains(&life.asked),
            "{} requests, of which {requested} led to captures and {dropped:?} were dropped",
            life.asked
        );
        let busy = attempts.iter().filter(|it| {
            it.skipped
                && it
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason != "periodic")
        });
        ensure!(
            dropped.busy == busy.count() as u64,
            "{dropped:?}, and other captures were skipped"
        );
        let told = told(life)?;
        ensure!(
            told.cooldown <= dropped.cooldown
                && told.busy <= dropped.busy
                && told.pending <= dropped.pending,
            "{dropped:?}, and sidecars tell of {told:?}"
        );
    }
    Ok(())
}

/// What all sidecars of `life` tell.
fn told(life: &Life) -> Result<Requests, String> {
    let mut told = Requests::default();
    for (_, published) in life.seen.attempts.iter().filter_map(|it| it.saved.as_ref()) {
        let sidecar = Sidecar::from_json(&published.sidecar)
            .map_err(|error| format!("{}: {error:#}", published.name))?;
        told.cooldown += sidecar.requests.cooldown;
        told.busy += sidecar.requests.busy;
        told.pending += sidecar.requests.pending;
    }
    Ok(told)
}
