//! The names that entries of a store have.

use std::fmt;
use std::time::SystemTime;

use jiff::civil::DateTime;

use crate::Timestamp;

/// The name of a capture: the UTC time of its start, to the nanosecond.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tachograph_core::store::{CaptureName, EntryKind};
///
/// let start = SystemTime::UNIX_EPOCH + Duration::new(1_796_023_940, 147_230_271);
/// let name = CaptureName::new(start);
/// assert_eq!(name.profile(), "20261130T073220.147230271Z.pprof");
/// assert_eq!(name.sidecar(), "20261130T073220.147230271Z.pprof.json");
/// assert_eq!(
///     CaptureName::parse("20261130T073220.147230271Z.pprof.partial"),
///     Some((name, EntryKind::PartialProfile))
/// );
/// assert_eq!(CaptureName::parse("notes.pprof"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureName(Timestamp);

/// What an entry of a store is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A complete profile.
    Profile,
    /// A complete sidecar.
    Sidecar,
    /// A profile that is not complete yet, or never will be.
    PartialProfile,
    /// A sidecar that is not complete yet, or never will be.
    PartialSidecar,
}

impl EntryKind {
    const ALL: [Self; 4] = [
        Self::Profile,
        Self::Sidecar,
        Self::PartialProfile,
        Self::PartialSidecar,
    ];

    fn suffix(self) -> &'static str {
        match self {
            Self::Profile => ".pprof",
            Self::Sidecar => ".pprof.json",
            Self::PartialProfile => ".pprof.partial",
            Self::PartialSidecar => ".pprof.json.partial",
        }
    }
}

/// `20060102T150405.000000000` in the notation of the calendar library.
const STEM_FORMAT: &str = "%Y%m%dT%H%M%S.%9f";

impl CaptureName {
    /// The name of a capture that starts at `start`.
    pub fn new(start: SystemTime) -> Self {
        Self(start.into())
    }

    /// When the capture started.
    pub fn start(self) -> SystemTime {
        self.0.system_time()
    }

    /// The name of an entry of this capture.
    pub fn entry(self, kind: EntryKind) -> String {
        format!("{self}{}", kind.suffix())
    }

    /// The name of the complete profile.
    pub fn profile(self) -> String {
        self.entry(EntryKind::Profile)
    }

    /// The name of the complete sidecar.
    pub fn sidecar(self) -> String {
        self.entry(EntryKind::Sidecar)
    }

    /// Reads the name of an entry, if it is exactly one that
    /// [`entry`](Self::entry) makes.
    pub fn parse(entry: &str) -> Option<(Self, EntryKind)> {
        EntryKind::ALL.into_iter().find_map(|kind| {
            let stem = entry.strip_suffix(kind.suffix())?.strip_suffix('Z')?;
            let time = DateTime::strptime(STEM_FORMAT, stem).ok()?;
            let time = jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?;
            let name = Self(Timestamp::from_calendar(time)?);
            // The calendar library reads more shapes than it writes.
            (name.entry(kind) == entry).then_some((name, kind))
        })
    }
}

impl fmt::Display for CaptureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.0.calendar().strftime(STEM_FORMAT))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_kind_is_read_back() {
        let name = CaptureName::new(SystemTime::UNIX_EPOCH + Duration::new(951_782_400, 5));
        assert_eq!(name.profile(), "20000229T000000.000000005Z.pprof");
        for kind in EntryKind::ALL {
            assert_eq!(CaptureName::parse(&name.entry(kind)), Some((name, kind)));
        }
        let before_epoch = CaptureName::new(SystemTime::UNIX_EPOCH - Duration::from_nanos(1));
        assert_eq!(
            CaptureName::parse(&before_epoch.profile()),
            Some((before_epoch, EntryKind::Profile))
        );
    }

    #[test]
    fn nothing_else_is_ours() {
        for entry in [
            "",
            "pprof",
            ".pprof",
            "20261130T073220.147230271Z",
            "20261130T073220.147230271.pprof",
            "20261130T073220.14723027Z.pprof",
            "20261130T073220.1472302711Z.pprof",
            "20261130T073220Z.pprof",
            "20261130t073220.147230271Z.pprof",
            "20261130T073220.147230271z.pprof",
            "20261130T073220,147230271Z.pprof",
            "20261131T073220.147230271Z.pprof",
            "20261130T073260.147230271Z.pprof",
            "20261130T243220.147230271Z.pprof",
            "+20261130T073220.147230271Z.pprof",
            " 20261130T073220.147230271Z.pprof",
            "20261130T073220.147230271Z.pprof ",
            "20261130T073220.147230271Z.pprof.gz",
            "20261130T073220.147230271Z.json",
            "20261130T073220.147230271Z.pprof.partial.partial",
            "20261130T073220.147230271Z.PPROF",
            "2026113T0073220.147230271Z.pprof",
        ] {
            assert_eq!(CaptureName::parse(entry), None, "{entry:?}");
        }
    }
}
