//! What must hold after a fault, whatever it was.

use std::error::Error as _;
use std::io;

use rustix::io::Errno;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_core::{Error, ErrorKind, Store as _};
use tachograph_storage_posix::PosixStore;
use tachograph_storage_posix::seam::Operation;

use crate::common::{name, publish};
use crate::faulty::{Fault, How, Seen};
use crate::script::{PROFILE, Place, SIDECAR, captured, discarded};

/// What a fault must not do, or what it did.
pub(crate) type Judgement = Result<(), String>;

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Whether the store may go on as if nothing had happened.
pub(crate) fn is_tolerated(hit: &Seen, fault: Fault) -> bool {
    let is_gone = fault.errno == Errno::NOENT
        && match hit.phase {
            // Somebody else was faster.
            "recover" | "usage" => {
                matches!(hit.operation, Operation::StatEntry | Operation::Remove)
            }
            // It is about to be made.
            "open" => hit.operation == Operation::OpenDirectory,
            _ => false,
        };
    is_retried(hit, fault) || is_gone || is_too_late(hit)
}

/// Whether the store must ask again, and go on.
pub(crate) fn is_retried(hit: &Seen, fault: Fault) -> bool {
    // A listing that failed cannot be read on.
    fault.errno == Errno::INTR && hit.operation != Operation::NextEntry
}

/// Whether the capture stands already, or is given up.
fn is_too_late(hit: &Seen) -> bool {
    match hit.phase {
        // Both files and twice the directory: what follows is about leftovers.
        "publish" => hit.syncs_in_phase >= 4,
        "discard" | "close" => true,
        _ => false,
    }
}

/// The outcome of a script that met one fault.
pub(crate) fn judge_outcome(
    place: &Place,
    hit: &Seen,
    fault: Fault,
    outcome: &Result<(), Error>,
) -> Judgement {
    match outcome {
        Ok(()) => {
            ensure(is_tolerated(hit, fault), || "it was swallowed".into())?;
            ensure(place.ours().contains_key(&captured().profile()), || {
                "it was tolerated, but there is no capture".into()
            })
        }
        Err(error) => {
            ensure(!is_retried(hit, fault), || {
                format!("it was not retried: {error:#}")
            })?;
            if is_tolerated(hit, fault) && fault.how == How::FromThenOn {
                // The error is that of a later call.
                return Ok(());
            }
            judge_error(place, hit, fault, error)
        }
    }
}

/// Whether an operator can tell from the error what went wrong, and where.
fn judge_error(place: &Place, hit: &Seen, fault: Fault, error: &Error) -> Judgement {
    let kind = match hit.phase {
        "open" => ErrorKind::Directory,
        _ => ErrorKind::Storage,
    };
    ensure(error.kind() == kind, || {
        format!("the error is {:?}: {error:#}", error.kind())
    })?;

    let said = error.to_string();
    let names_place = match (&hit.name, hit.phase) {
        (_, "open") => said.contains(&format!("{:?}", place.path)),
        (Some(name), _) => said.contains(&format!("{name:?}")),
        (None, _) => {
            let names_file = |word| CaptureName::parse(word).is_some();
            said.contains("the private directory") || said.split('"').any(names_file)
        }
    };
    ensure(names_place, || format!("the error names no place: {said}"))?;

    let verbs: &[&str] = match (hit.phase, hit.operation) {
        ("open", Operation::Lock) => &["locked"],
        ("open", _) => &["opened", "created"],
        ("recover", Operation::StatEntry) => &["look at", "remove", "empty"],
        (_, Operation::StatEntry) => &["look at", "replaced or removed"],
        (_, Operation::Create | Operation::SetMode) => &["create"],
        ("recover", Operation::Stat | Operation::OpenToWrite | Operation::Truncate) => &["empty"],
        (_, Operation::Stat) => &["create"],
        (_, Operation::Write) => &["write"],
        (_, Operation::Sync) => &["sync"],
        (_, Operation::List | Operation::NextEntry) => &["list"],
        ("recover", Operation::Remove) => &["remove"],
        (_, Operation::Rename | Operation::Link | Operation::Remove) => &["rename"],
        (_, Operation::FreeSpace) => &["free space"],
        _ => &[],
    };
    ensure(verbs.iter().any(|verb| said.contains(verb)), || {
        format!("the error names no operation: {said}")
    })?;

    if fault.errno == Errno::NOENT
        && hit.operation == Operation::StatEntry
        && hit.phase == "publish"
    {
        return ensure(said.contains("by somebody else"), || said);
    }
    let system = io::Error::from(fault.errno);
    ensure(format!("{error:#}").contains(&system.to_string()), || {
        format!("the error does not say {system}: {error:#}")
    })?;
    let source = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    ensure(
        source.map(io::Error::raw_os_error) == Some(system.raw_os_error()),
        || format!("the error has no source of the system: {error:?}"),
    )
}

/// What the fault left in the directory.
pub(crate) fn judge_rest(place: &Place) -> Judgement {
    ensure(place.is_foreign_untouched(), || {
        "it touched foreign files".into()
    })?;
    ensure(!place.is_open(), || "a descriptor was left open".into())?;
    judge_pairs(place)
}

/// Every profile has its sidecar, and both are whole.
fn judge_pairs(place: &Place) -> Judgement {
    let ours = place.ours();
    for (entry, profile) in &ours {
        let Some((capture, EntryKind::Profile)) = CaptureName::parse(entry) else {
            continue;
        };
        let sidecar = ours.get(&capture.sidecar());
        let sidecar = sidecar.ok_or_else(|| format!("{entry} has no sidecar"))?;
        if capture == captured() {
            ensure(profile == PROFILE && sidecar == SIDECAR, || {
                format!("{entry} is not whole")
            })?;
        }
    }
    Ok(())
}

/// What the fault left of the captures of the script, when all calls after it
/// went well.
pub(crate) fn judge_cleaning(
    place: &Place,
    hit: &Seen,
    how: How,
    outcome: &Result<(), Error>,
) -> Judgement {
    // Made on the way to a directory that could not be.
    if hit.phase == "open" && outcome.is_err() && hit.syncs_in_phase < 2 {
        ensure(!place.is_half_made(), || "directories were left".into())?;
    }
    let is_published = outcome.is_ok() || hit.phase == "stage again";
    for entry in place.ours().into_keys() {
        let (capture, kind) = CaptureName::parse(&entry).expect("it is one of ours");
        let was_kept = hit.phase == "discard"
            && how != How::AfterTheEffect
            && hit.is_about(&entry)
            && matches!(hit.operation, Operation::StatEntry | Operation::Remove);
        let is_left = if capture == captured() {
            is_published && matches!(kind, EntryKind::Profile | EntryKind::Sidecar)
        } else {
            capture != discarded() || was_kept
        };
        ensure(is_left, || format!("{entry} was left"))?;
    }
    Ok(())
}

/// A store that comes later finds the directory free and puts everything right.
pub(crate) fn judge_later(place: &Place) -> Judgement {
    let failed = |error: Error| format!("a later store fails: {error:#}");
    let store = PosixStore::open(&place.path).map_err(failed)?;
    let standing: Vec<_> = place
        .ours()
        .into_keys()
        .filter(|entry| {
            matches!(
                CaptureName::parse(entry),
                Some((_, EntryKind::PartialProfile))
            )
        })
        .collect();
    let recovery = store.recover().map_err(failed)?;
    ensure(recovery.interrupted == standing, || {
        format!(
            "{standing:?} stand, and {:?} are told",
            recovery.interrupted
        )
    })?;
    publish(&store, name(20));
    drop(store);
    let ours = place.ours();
    ensure(ours.contains_key(&name(20).profile()), || {
        "no capture".into()
    })?;
    for entry in ours.keys() {
        let (capture, _) = CaptureName::parse(entry).expect("it is one of ours");
        let is_whole =
            ours.contains_key(&capture.profile()) && ours.contains_key(&capture.sidecar());
        ensure(is_whole, || format!("a later store leaves {entry}"))?;
    }
    judge_pairs(place)?;
    ensure(place.is_foreign_untouched(), || {
        "a later store touched foreign files".into()
    })
}
