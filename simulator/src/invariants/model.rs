//! What was seen, beside what was to be.

use tachograph_core::store::CaptureName;
use tachograph_core::{End, Sidecar};

use super::{Case, ensure};
use crate::model::{self, Dropped, Expected, ExpectedAttempt, Why};
use crate::parts::wall_ms;
use crate::record::{Attempt, Life};

pub(super) fn agrees_with_the_model(case: &Case<'_>) -> Result<(), String> {
    for life in &case.record.lives {
        let expected = model::expect(case.history, &case.timeline, life);
        compare(life, &expected)
            .map_err(|error| format!("the recorder of {}: {error}", life.started.at_ms))?;
    }
    Ok(())
}

fn compare(life: &Life, expected: &Expected) -> Result<(), String> {
    let seen = &life.seen.attempts;
    for (seen, expected) in seen.iter().zip(&expected.attempts) {
        compare_attempt(seen, expected)?;
    }
    ensure!(
        seen.len() == expected.attempts.len(),
        "tried {} captures, not {}; beyond those: {:?}, {:?}",
        seen.len(),
        expected.attempts.len(),
        seen.get(expected.attempts.len()),
        expected.attempts.get(seen.len())
    );
    let told = life.end_lines.first();
    match expected.over {
        Some((over_ms, why)) => {
            let Some(line) = told else {
                return Err(format!("it was to end at {over_ms}: {why:?}"));
            };
            ensure!(
                line.at_ms == over_ms,
                "it ended at {}, and was to at {over_ms}: {why:?}",
                line.at_ms
            );
            if let Some(end) = life.ends.first() {
                ensure!(is(end, why), "it ended with {end:?}, not {why:?}");
            }
        }
        None => {
            ensure!(
                life.ends.iter().all(|end| *end == End::Abandoned),
                "it ended by itself: {:?}",
                life.ends
            );
        }
    }
    if let Some(status) = &life.status {
        let dropped = Dropped {
            cooldown: status.dropped.cooldown,
            busy: status.dropped.busy,
            pending: status.dropped.pending,
        };
        ensure!(
            dropped == expected.dropped && status.captures == expected.captures,
            "{status:?}, not {:?} and {} captures",
            expected.dropped,
            expected.captures
        );
    }
    Ok(())
}

fn is(end: &End, why: Why) -> bool {
    match why {
        Why::Deadline => *end == End::Deadline,
        Why::Stopped => *end == End::Stopped,
        Why::Budget => matches!(end, End::Budget(_)),
        Why::Interrupted => matches!(end, End::Interrupted { .. }),
        Why::Failed => matches!(end, End::Failed { .. }),
    }
}

fn compare_attempt(seen: &Attempt, expected: &ExpectedAttempt) -> Result<(), String> {
    let name = |(name, _): (CaptureName, _)| wall_ms(name.start());
    let agrees = seen.looked.at_ms == expected.looked_ms
        && seen.staged.map(|(_, at)| at.at_ms) == expected.staged_ms
        && seen.staged.map(name).is_none_or(|named| named == expected.named_ms)
        && seen.sampler_asked.map(|at| at.at_ms) == expected.sampler_asked_ms
        // One that was given up is not stopped but dropped, whenever that is.
        && (expected.sampling_until_ms.is_none()
            || seen.sampling_until.map(|at| at.at_ms) == expected.sampling_until_ms)
        && seen.saved.as_ref().map(|(at, _)| at.at_ms) == expected.saved_ms
        && seen.skipped == expected.skipped
        && seen.reason.as_ref().is_none_or(|reason| *reason == expected.reason);
    ensure!(agrees, "saw {seen:?}, not {expected:?}");
    let Some((_, published)) = &seen.saved else {
        return Ok(());
    };
    let sidecar = Sidecar::from_json(&published.sidecar).map_err(|error| format!("{error:#}"))?;
    let told = Dropped {
        cooldown: sidecar.requests.cooldown,
        busy: sidecar.requests.busy,
        pending: sidecar.requests.pending,
    };
    ensure!(
        sidecar.reason == expected.reason
            && told == expected.told
            && wall_ms(sidecar.finished_at.system_time()) == expected.finished_wall_ms,
        "the sidecar says {sidecar:?}, not {expected:?}"
    );
    Ok(())
}
