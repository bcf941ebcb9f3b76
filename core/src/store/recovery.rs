//! What to do about the leftovers of a crash. Pure.

use std::collections::BTreeSet;

use super::{CaptureName, EntryKind, Recovery};

/// How many unfinished profiles may stand before recording is held to be what
/// kills the service: at this many it ends at once.
pub const INTERRUPTED_MAX: usize = 3;

/// What a [`Store`](super::Store) does about the entries it finds when it
/// recovers.
///
/// Only entries whose names are exactly those of a capture are looked at:
/// - a sidecar without its profile, finished or not, explains nothing and is
///   removed;
/// - an unfinished profile says that the process died during a capture: it is
///   emptied and stands until a later capture is complete;
/// - a complete profile is never touched.
///
/// ```
/// use tachograph_core::store::RecoveryPlan;
///
/// let plan = RecoveryPlan::new([
///     "20261130T073220.147230271Z.pprof.partial",
///     "20261130T073220.147230271Z.pprof.json.partial",
///     "somebody-elses.pprof.json",
/// ]);
/// assert_eq!(plan.remove, ["20261130T073220.147230271Z.pprof.json.partial"]);
/// assert_eq!(plan.recovery.interrupted, ["20261130T073220.147230271Z.pprof.partial"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryPlan {
    /// The entries to remove, sorted.
    pub remove: Vec<String>,
    /// What to report; its `interrupted` are the entries to empty.
    pub recovery: Recovery,
}

impl RecoveryPlan {
    /// Judges the names of the regular files in a store. Names that no capture
    /// has are passed over.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        let ours: BTreeSet<_> = names
            .into_iter()
            .filter_map(|name| CaptureName::parse(name.as_ref()))
            .collect();
        let mut plan = Self::default();
        plan.recovery.newest = ours.iter().map(|(name, _)| name.start()).max();
        for &(name, kind) in &ours {
            match kind {
                EntryKind::Profile => {}
                EntryKind::Sidecar if ours.contains(&(name, EntryKind::Profile)) => {}
                EntryKind::Sidecar | EntryKind::PartialSidecar => {
                    plan.remove.push(name.entry(kind));
                }
                EntryKind::PartialProfile => {
                    plan.recovery.interrupted.push(name.entry(kind));
                }
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn name(second: u64) -> CaptureName {
        CaptureName::new(SystemTime::UNIX_EPOCH + Duration::from_secs(second))
    }

    #[test]
    fn whole_captures_are_left_alone() {
        let plan = RecoveryPlan::new([name(1).profile(), name(1).sidecar(), name(2).profile()]);
        assert!(plan.remove.is_empty());
        assert!(plan.recovery.interrupted.is_empty());
        assert_eq!(plan.recovery.newest, Some(name(2).start()));
    }

    #[test]
    fn every_state_a_crash_can_leave_is_put_away() {
        use EntryKind::{PartialProfile, PartialSidecar, Profile, Sidecar};
        for (kinds, removed) in [
            (&[PartialProfile][..], &[][..]),
            (&[PartialProfile, PartialSidecar], &[PartialSidecar]),
            (&[PartialProfile, Sidecar], &[Sidecar]),
            (&[Sidecar], &[Sidecar]),
            (&[PartialSidecar], &[PartialSidecar]),
            (&[Profile, Sidecar, PartialSidecar], &[PartialSidecar]),
        ] {
            let plan = RecoveryPlan::new(kinds.iter().map(|&kind| name(1).entry(kind)));
            let removed: Vec<_> = removed.iter().map(|&kind| name(1).entry(kind)).collect();
            assert_eq!(plan.remove, removed, "{kinds:?}");
            assert_eq!(
                plan.recovery.interrupted.len(),
                usize::from(kinds.contains(&PartialProfile))
            );
            assert_eq!(plan.recovery.newest, Some(name(1).start()));
        }
    }
}
