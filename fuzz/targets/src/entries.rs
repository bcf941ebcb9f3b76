use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use tachograph_core::store::{CaptureName, EntryKind, RecoveryPlan};

const KINDS: [EntryKind; 4] = [
    EntryKind::Profile,
    EntryKind::Sidecar,
    EntryKind::PartialProfile,
    EntryKind::PartialSidecar,
];

/// The names of a directory's entries, one a line, behind a time from which
/// names are made: seconds from 1970, signed, and nanoseconds (eight bytes
/// each).
///
/// What is written is read back; what is read is exactly what would have been
/// written; and what a crash left is put away without touching a profile, or
/// anything that is not ours.
pub fn entries(mut input: &[u8]) {
    let seconds = crate::number(&mut input).cast_signed();
    let nanoseconds = (crate::number(&mut input) % 1_000_000_000) as u32;
    round_trip(seconds, nanoseconds);

    let text = String::from_utf8_lossy(input);
    let names: Vec<&str> = text.lines().collect();
    let mut ours = BTreeSet::new();
    for &entry in &names {
        if let Some((name, kind)) = CaptureName::parse(entry) {
            assert_eq!(name.entry(kind), entry);
            assert_eq!(CaptureName::new(name.start()), name);
            ours.insert((name, kind));
        }
    }
    let plan = RecoveryPlan::new(&names);
    assert!(plan.remove.is_sorted());
    for removed in &plan.remove {
        let (name, kind) = CaptureName::parse(removed).expect("ours alone");
        assert!(ours.contains(&(name, kind)));
        match kind {
            EntryKind::Profile | EntryKind::PartialProfile => panic!("{removed} is removed"),
            EntryKind::Sidecar => assert!(!ours.contains(&(name, EntryKind::Profile))),
            EntryKind::PartialSidecar => {}
        }
    }
    for emptied in &plan.recovery.interrupted {
        let (name, kind) = CaptureName::parse(emptied).expect("ours alone");
        assert_eq!(kind, EntryKind::PartialProfile);
        assert!(ours.contains(&(name, kind)));
    }
    let newest = ours.iter().map(|(name, _)| name.start()).max();
    assert_eq!(plan.recovery.newest, newest);

    // Doing it leaves nothing to do, but for what stands until the next capture.
    let left: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !plan.remove.iter().any(|removed| removed == name))
        .collect();
    let again = RecoveryPlan::new(&left);
    assert!(again.remove.is_empty());
    assert_eq!(again.recovery.interrupted, plan.recovery.interrupted);
}

fn round_trip(seconds: i64, nanoseconds: u32) {
    // The years that have four digits, as far as the calendar library goes.
    const FIRST: i64 = -62_167_219_200;
    const LAST: i64 = 253_402_207_200;
    let seconds = FIRST + seconds.rem_euclid(LAST - FIRST);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 {
        SystemTime::UNIX_EPOCH - whole
    } else {
        SystemTime::UNIX_EPOCH + whole
    };
    let start = start + Duration::from_nanos(nanoseconds.into());
    let name = CaptureName::new(start);
    assert_eq!(name.start(), start);
    for kind in KINDS {
        let entry = name.entry(kind);
        assert_eq!(CaptureName::parse(&entry), Some((name, kind)), "{entry}");
    }
}
