//! Points in time: the monotonic line a schedule lives on, and UTC text.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, ErrorKind};

/// A point on the monotonic time line of a [`Clock`](crate::Clock), counted
/// from that clock's own origin.
///
/// Not [`std::time::Instant`]: that one can only be read from the system, and
/// the core reads no clock.
///
/// ```
/// use std::time::Duration;
/// use tachograph_core::Instant;
///
/// let start = Instant::ORIGIN;
/// let later = start.saturating_add(Duration::from_secs(30));
/// assert_eq!(later.saturating_since(start), Duration::from_secs(30));
/// assert_eq!(start.saturating_since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// The origin of the clock.
    pub const ORIGIN: Self = Self(Duration::ZERO);

    /// The point `elapsed` after the clock's origin.
    pub const fn from_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// How long after the clock's origin this is.
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// This point moved forward, at most to the end of the time line.
    #[must_use]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// The time from `earlier` to this point; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Both readings of a [`Clock`](crate::Clock), taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The monotonic reading.
    pub monotonic: Instant,
    /// The wall reading.
    pub wall: SystemTime,
}

/// A wall time that reads and prints as RFC 3339 in UTC with up to nine digits
/// of fraction.
///
/// Parsing is strict, after RFC 3339 section 5.6: `T` and `Z` in upper case, a
/// numeric offset or `Z`, and no leap second (there is no system time for one).
/// A system time before the year 0 or after 9999 prints as the nearest that has
/// a text.
///
/// ```
/// use tachograph_core::Timestamp;
///
/// let time: Timestamp = "2026-11-30T08:32:20.5+01:00".parse()?;
/// assert_eq!(time.to_string(), "2026-11-30T07:32:20.5Z");
/// assert!("2026-11-30 07:32:20Z".parse::<Timestamp>().is_err());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(SystemTime);

impl Timestamp {
    /// The system time meant.
    pub fn system_time(self) -> SystemTime {
        self.0
    }

    /// As the calendar library sees it. A system time that RFC 3339 has no text
    /// for (years 0 to 9999) is taken as the nearest end.
    pub(crate) fn calendar(self) -> jiff::Timestamp {
        const YEAR_0: jiff::Timestamp = jiff::Timestamp::constant(-62_167_219_200, 0);
        let time =
            jiff::Timestamp::try_from(self.0).unwrap_or(if self.0 < SystemTime::UNIX_EPOCH {
                YEAR_0
            } else {
                jiff::Timestamp::MAX
            });
        time.max(YEAR_0)
    }

    pub(crate) fn from_calendar(time: jiff::Timestamp) -> Option<Self> {
        SystemTime::try_from(time).ok().map(Self)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Self(time)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.calendar(), f)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// # Errors
    ///
    /// [`ErrorKind::Setting`], quoting `text`, if it is not RFC 3339 as
    /// described above.
    fn from_str(text: &str) -> Result<Self, Error> {
        let malformed = || {
            Error::new(
                ErrorKind::Setting,
                format!(
                    "{text:?} is not an RFC 3339 time such as 2026-11-30T07:32:20Z \
                     (upper-case T and Z, up to nine digits of fraction, no leap second)"
                ),
            )
        };
        if !has_rfc3339_shape(text.as_bytes()) {
            return Err(malformed());
        }
        match text.parse::<jiff::Timestamp>() {
            Ok(time) => Self::from_calendar(time).ok_or_else(malformed),
            // The calendar library's times end a day before the year 9999 does.
            Err(_) if text[..19].parse::<jiff::civil::DateTime>().is_ok() => {
                Self::from_calendar(jiff::Timestamp::MAX).ok_or_else(malformed)
            }
            Err(_) => Err(malformed()),
        }
    }
}

/// The grammar of RFC 3339 section 5.6 by shape alone; whether the numbers are
/// a date is left to the calendar library, which accepts far more shapes.
fn has_rfc3339_shape(text: &[u8]) -> bool {
    fn matches(text: &[u8], pattern: &[u8]) -> bool {
        text.len() == pattern.len()
            && text.iter().zip(pattern).all(|(byte, want)| match want {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    }
    const DATE_TIME: &[u8] = b"0000-00-00T00:00:00";
    if text.len() < DATE_TIME.len() || !matches(&text[..DATE_TIME.len()], DATE_TIME) {
        return false;
    }
    // A leap second, which the calendar library would quietly clamp.
    if &text[17..19] == b"60" {
        return false;
    }
    let mut rest = &text[DATE_TIME.len()..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        rest = &fraction[digits..];
    }
    match rest {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] => {
            matches(offset, b"00:00") && &offset[..2] <= b"23" && &offset[3..] <= b"59"
        }
        _ => false,
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_it_reads_whatever_the_clock_shows() {
        let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        for time in [
            SystemTime::UNIX_EPOCH - 19 * century,
            SystemTime::UNIX_EPOCH - 20 * century,
            SystemTime::UNIX_EPOCH - 200 * century,
            SystemTime::UNIX_EPOCH + 80 * century,
            SystemTime::UNIX_EPOCH + 200 * century,
        ] {
            let printed = Timestamp::from(time).to_string();
            let read: Timestamp = printed.parse().expect("RFC 3339");
            assert_eq!(read.to_string(), printed);
        }
    }

    #[test]
    fn accepts_what_rfc3339_accepts() {
        for (text, utc) in [
            ("2026-11-30T07:32:20Z", "2026-11-30T07:32:20Z"),
            (
                "2026-11-30T07:32:20.147230271Z",
                "2026-11-30T07:32:20.147230271Z",
            ),
            ("2026-11-30T07:32:20.5-02:30", "2026-11-30T10:02:20.5Z"),
            ("2026-11-30T07:32:20+00:00", "2026-11-30T07:32:20Z"),
            ("2026-11-30T07:32:20-00:00", "2026-11-30T07:32:20Z"),
            ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00.999999999Z"),
        ] {
            let time: Timestamp = text.parse().expect(text);
            assert_eq!(time.to_string(), utc);
        }
    }

    #[test]
    fn refuses_everything_else_and_quotes_it() {
        for text in [
            "",
            "tomorrow",
            "2026-11-30",
            "2026-11-30T07:32Z",
            "2026-11-30T07:32:20",
            "2026-11-30t07:32:20Z",
            "2026-11-30T07:32:20z",
            "2026-11-30 07:32:20Z",
            "2026-11-30T07:32:60Z",
            "2026-12-31T23:59:60Z",
            "2026-11-30T24:00:00Z",
            "2026-11-31T07:32:20Z",
            "2027-02-29T00:00:00Z",
            "2026-11-30T07:32:20.Z",
            "2026-11-30T07:32:20,5Z",
            "2026-11-30T07:32:20.1234567890Z",
            "2026-11-30T07:32:20+0100",
            "2026-11-30T07:32:20+01",
            "2026-11-30T07:32:20+24:00",
            "2026-11-30T07:32:20+01:60",
            "2026-11-30T07:32:20Z[UTC]",
            "2026-11-30T07:32:20+01:00[Europe/Berlin]",
            " 2026-11-30T07:32:20Z",
            "2026-11-30T07:32:20Z ",
            "+002026-11-30T07:32:20Z",
            "2026-11-30T07:32:20\u{2212}01:00",
        ] {
            let error = text.parse::<Timestamp>().expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Setting);
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_time_beyond_the_calendar_is_clamped_not_a_panic() {
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 50);
        assert!(Timestamp::from(far).to_string().starts_with("9999-12-30"));
        let long_ago = SystemTime::UNIX_EPOCH - Duration::from_secs(1 << 40);
        assert_eq!(
            Timestamp::from(long_ago).to_string(),
            "0000-01-01T00:00:00Z"
        );
    }
}
