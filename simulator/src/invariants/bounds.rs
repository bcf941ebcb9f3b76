//! What a capture may take.

use super::{Case, ensure};
use crate::history::What;

pub(super) fn samples_no_longer(case: &Case<'_>) -> Result<(), String> {
    let capture_ms = case.history.rhythm.capture_ms;
    for life in &case.record.lives {
        ensure!(!life.sampled_idly, "it sampled where no capture was");
        // The end is noticed once a look at the session is over, and stopping
        // is a piece of work of its own.
        let slack_ms = 2 * life.start.lag_ms;
        let mut over_ms = 0;
        for attempt in &life.seen.attempts {
            let Some(since) = attempt.sampling_since else {
                continue;
            };
            ensure!(since.at_ms >= over_ms, "two captures at {since:?}");
            let Some(until) = attempt.sampling_until else {
                ensure!(
                    life.killed_ms.is_some(),
                    "the session from {since:?} never stopped"
                );
                continue;
            };
            over_ms = until.at_ms;
            let took_ms = until.at_ms - since.at_ms;
            ensure!(
                took_ms <= capture_ms + slack_ms,
                "sampled for {took_ms} ms from {since:?}"
            );
        }
    }
    Ok(())
}

pub(super) fn keeps_the_budgets(case: &Case<'_>) -> Result<(), String> {
    let bounds = case.history.bounds;
    let most = bounds.profile_bytes_max + bounds.sidecar_bytes_max;
    for attempt in case
        .record
        .lives
        .iter()
        .flat_map(|life| &life.seen.attempts)
    {
        if attempt.staged.is_none() {
            continue;
        }
        let looked = attempt.looked;
        ensure!(
            attempt.entries + 2 <= bounds.entries_max
                && attempt.bytes + most <= bounds.bytes_max
                && attempt.bytes_free.is_none_or(|free| free >= most),
            "a capture at {looked:?} beside {} entries and {} bytes, {:?} bytes free",
            attempt.entries,
            attempt.bytes,
            attempt.bytes_free
        );
        let Some((saved, published)) = &attempt.saved else {
            continue;
        };
        ensure!(
            published.profile.len() as u64 <= bounds.profile_bytes_max
                && published.sidecar.len() as u64 <= bounds.sidecar_bytes_max,
            "too large at {saved:?}"
        );
        let others_came = case.history.events.iter().any(|event| {
            (looked.at_ms..=saved.at_ms).contains(&event.at_ms)
                && matches!(
                    event.what,
                    What::Put { .. } | What::PutOther { .. } | What::Squat { .. }
                )
        });
        ensure!(
            others_came
                || (published.entries_after <= bounds.entries_max
                    && published.bytes_after <= bounds.bytes_max),
            "{} entries and {} bytes after {saved:?}",
            published.entries_after,
            published.bytes_after
        );
    }
    Ok(())
}
