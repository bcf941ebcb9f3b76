//! What stands in the directory.

use std::collections::BTreeSet;

use tachograph_core::Sidecar;
use tachograph_core::store::{CaptureName, EntryKind};

use super::{Case, ensure};
use crate::parts::{wall, wall_ms};
use crate::play::foreign_bytes;
use crate::record::{Inventory, Life};

/// The entries that are captures or parts of one by their names, and not
/// somebody else's.
fn ours(inventory: &Inventory) -> impl Iterator<Item = (&String, CaptureName, EntryKind)> {
    let names = inventory.entries.keys();
    names
        .filter(|name| !inventory.foreign.contains_key(*name))
        .filter_map(|entry| {
            let (name, kind) = CaptureName::parse(entry)?;
            Some((entry, name, kind))
        })
}

/// Whether `life`, whose end this was, found this unfinished profile and has
/// saved nothing since.
fn is_known_leftover(life: &Life, entry: &String) -> bool {
    let was_found = life.seen.found.iter().flatten().any(|name| name == entry);
    was_found && life.seen.attempts.iter().all(|it| it.saved.is_none())
}

pub(super) fn leaves_nothing_half(case: &Case<'_>) -> Result<(), String> {
    for inventory in &case.record.inventories {
        let Some(number) = inventory.life else {
            continue;
        };
        let life = &case.record.lives[number];
        // One that never came to recover has put nothing away.
        let has_recovered = life.seen.found.is_some()
            && !life
                .start
                .faults
                .iter()
                .any(|fault| fault.call == crate::history::Call::Recover);
        if !has_recovered {
            continue;
        }
        for (entry, name, kind) in ours(inventory) {
            let stands = |kind| inventory.entries.contains_key(&name.entry(kind));
            let at_ms = inventory.at_ms;
            match kind {
                EntryKind::Profile => ensure!(
                    stands(EntryKind::Sidecar),
                    "{entry} without sidecar at {at_ms}"
                ),
                EntryKind::Sidecar => ensure!(
                    stands(EntryKind::Profile),
                    "{entry} without profile at {at_ms}"
                ),
                EntryKind::PartialSidecar => {
                    return Err(format!("{entry} remains at {at_ms}"));
                }
                EntryKind::PartialProfile => {
                    ensure!(is_known_leftover(life, entry), "{entry} remains at {at_ms}");
                    let bytes = inventory.entries[entry].as_deref();
                    ensure!(
                        bytes.is_some_and(<[u8]>::is_empty),
                        "{entry} was not emptied"
                    );
                }
            }
        }
    }
    Ok(())
}

pub(super) fn touches_nothing_else(case: &Case<'_>) -> Result<(), String> {
    for inventory in &case.record.inventories {
        let at_ms = inventory.at_ms;
        for (name, bytes) in &inventory.foreign {
            let expected = bytes.map(foreign_bytes);
            ensure!(
                inventory.entries.get(name) == Some(&expected),
                "somebody else's {name} is not what it was at {at_ms}"
            );
        }
        let mut saved = BTreeSet::new();
        for published in &inventory.saved {
            saved.insert(published.name);
            let profile = inventory.entries.get(&published.name.profile());
            ensure!(
                profile == Some(&Some(published.profile.clone())),
                "{} is not what was saved at {at_ms}",
                published.name.profile()
            );
            if let Some(sidecar) = inventory.entries.get(&published.name.sidecar()) {
                ensure!(
                    sidecar.as_ref() == Some(&published.sidecar),
                    "{} is not what was saved at {at_ms}",
                    published.name.sidecar()
                );
            }
        }
        for (entry, name, kind) in ours(inventory) {
            ensure!(
                kind != EntryKind::Profile || saved.contains(&name),
                "{entry} was never saved, and stands there at {at_ms}"
            );
        }
        let strange = inventory.entries.keys().find(|name| {
            !inventory.foreign.contains_key(*name) && CaptureName::parse(name).is_none()
        });
        ensure!(strange.is_none(), "{strange:?} at {at_ms}: whose is that?");
    }
    Ok(())
}

pub(super) fn tells_the_truth(case: &Case<'_>) -> Result<(), String> {
    for life in &case.record.lives {
        for attempt in &life.seen.attempts {
            let Some((_, published)) = &attempt.saved else {
                continue;
            };
            let name = published.name;
            let sidecar = Sidecar::from_json(&published.sidecar)
                .map_err(|error| format!("{name}: {error:#}"))?;
            let profile = String::from_utf8_lossy(&published.profile);
            let samples = profile.lines().next().unwrap_or_default();
            ensure!(
                format!("{} samples", sidecar.samples) == samples,
                "{name} says {} samples, and has {samples}",
                sidecar.samples
            );
            let finished = attempt.sampling_until.map(|until| until.wall_ms);
            ensure!(
                sidecar.started_at.system_time() == name.start()
                    && Some(wall_ms(sidecar.finished_at.system_time())) == finished
                    && sidecar.until.system_time() == wall(life.start.until_ms),
                "{name} lies about its times: {sidecar:?}"
            );
            ensure!(
                sidecar.bytes == published.profile.len() as u64,
                "{name} says {} bytes",
                sidecar.bytes
            );
            ensure!(
                attempt.reason.is_none() || attempt.reason.as_ref() == Some(&sidecar.reason),
                "{name} was logged for {:?}, and says {:?}",
                attempt.reason,
                sidecar.reason
            );
        }
    }
    Ok(())
}
