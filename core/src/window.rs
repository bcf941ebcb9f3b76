//! Opting in: two settings, one decision.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::{Error, ErrorKind, Timestamp};

/// The stretch of wall time in which a recorder may record. It has an end that
/// is at most [`Window::LENGTH_MAX`] away from the moment it was judged at.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tachograph_core::Window;
///
/// let now = SystemTime::UNIX_EPOCH;
/// let window = Window::until(now + Duration::from_secs(3600), now)?.expect("still open");
/// assert_eq!(window.end(), now + Duration::from_secs(3600));
/// assert!(Window::until(now, now)?.is_none());
/// assert!(Window::until(now + Duration::from_secs(73 * 3600), now).is_err());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    end: SystemTime,
}

impl Window {
    /// The longest window.
    pub const LENGTH_MAX: Duration = Duration::from_secs(72 * 60 * 60);

    /// The window from `now` to `end`, or nothing if that is over already.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if `end` is more than [`Self::LENGTH_MAX`] ahead.
    pub fn until(end: SystemTime, now: SystemTime) -> Result<Option<Self>, Error> {
        match end.duration_since(now) {
            Err(_) | Ok(Duration::ZERO) => Ok(None),
            Ok(ahead) if ahead <= Self::LENGTH_MAX => Ok(Some(Self { end })),
            Ok(_) => Err(Error::new(
                ErrorKind::Setting,
                format!(
                    "the deadline {} is more than 72 h ahead of now ({}): set one within 72 h",
                    Timestamp::from(end),
                    Timestamp::from(now)
                ),
            )),
        }
    }

    /// When recording ends, by the wall clock.
    pub fn end(self) -> SystemTime {
        self.end
    }

    /// How long recording may go on, by either clock, if the wall clock shows
    /// `now`. A clock that was stepped back since cannot stretch it.
    pub(crate) fn remaining(self, now: SystemTime) -> Duration {
        self.end
            .duration_since(now)
            .unwrap_or(Duration::ZERO)
            .min(Self::LENGTH_MAX)
    }
}

/// One setting of the operator: the name it goes by and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    name: &'static str,
    value: Option<OsString>,
}

impl Setting {
    /// The setting `name`, not set. `name` is what error messages say, for
    /// instance the name of an environment variable.
    pub const fn unset(name: &'static str) -> Self {
        Self { name, value: None }
    }

    /// The setting `name` with `value`. An empty value is the same as none.
    pub fn new(name: &'static str, value: Option<OsString>) -> Self {
        Self {
            name,
            value: value.filter(|value| !value.is_empty()),
        }
    }

    /// The name it goes by.
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn value(&self) -> Option<&OsStr> {
        self.value.as_deref()
    }
}

/// What the operator's two settings amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptIn {
    /// Neither is set: an ordinary day.
    Off,
    /// The deadline has passed. Nothing on disk may be looked at.
    Expired(Timestamp),
    /// Record into `directory` while `window` is open.
    On {
        /// The private directory, not looked at yet.
        directory: PathBuf,
        /// The time in which to record.
        window: Window,
    },
}

impl OptIn {
    /// Judges the two settings at the wall time `now`. Pure: nothing is looked
    /// at but the arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if only one of the two is set, or the deadline is
    /// not RFC 3339, or it is more than [`Window::LENGTH_MAX`] ahead.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use tachograph_core::{OptIn, Setting};
    ///
    /// let dir = Setting::new("TACHOGRAPH_DIR", Some("/var/lib/app/profiles".into()));
    /// let until = Setting::unset("TACHOGRAPH_UNTIL");
    /// let error = OptIn::judge(&dir, &until, SystemTime::UNIX_EPOCH).unwrap_err();
    /// assert!(error.to_string().contains("TACHOGRAPH_UNTIL"));
    /// ```
    pub fn judge(directory: &Setting, until: &Setting, now: SystemTime) -> Result<Self, Error> {
        let (path, text) = match (directory.value(), until.value()) {
            (None, None) => return Ok(Self::Off),
            (Some(path), Some(text)) => (path, text),
            (Some(path), None) => {
                return Err(Error::new(
                    ErrorKind::Setting,
                    format!(
                        "{} is {path:?}, but {} is not set or empty: recording needs both, the \
                         latter an RFC 3339 time within 72 h such as 2026-11-30T07:32:20Z",
                        directory.name, until.name
                    ),
                ));
            }
            (None, Some(text)) => {
                return Err(Error::new(
                    ErrorKind::Setting,
                    format!(
                        "{} is {text:?}, but {} is not set or empty: recording needs both, the \
                         latter the absolute path of a private directory",
                        until.name, directory.name
                    ),
                ));
            }
        };
        let of_until = |error: Error| error.of_setting(until.name);
        let end: Timestamp = text.to_string_lossy().parse().map_err(of_until)?;
        match Window::until(end.system_time(), now).map_err(of_until)? {
            None => Ok(Self::Expired(end)),
            Some(window) => Ok(Self::On {
                directory: path.into(),
                window,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-30T07:32:20Z";

    fn judge(directory: &str, until: &str) -> Result<OptIn, Error> {
        let now: Timestamp = NOW.parse().expect("well formed");
        OptIn::judge(
            &Setting::new("DIR", Some(directory.into())),
            &Setting::new("UNTIL", Some(until.into())),
            now.system_time(),
        )
    }

    #[test]
    fn the_table_in_its_order() {
        assert_eq!(judge("", ""), Ok(OptIn::Off).map_err(|e: Error| e));
        for (directory, until, said) in [
            ("/d", "", "UNTIL is not set"),
            ("", "nonsense", "DIR is not set"),
            ("/d", "nonsense", "UNTIL: \"nonsense\" is not"),
            (
                "/d",
                "2026-12-03T07:32:20.000000001Z",
                "UNTIL: the deadline",
            ),
        ] {
            let error = judge(directory, until).expect_err(until);
            assert_eq!(error.kind(), ErrorKind::Setting);
            assert!(error.to_string().contains(said), "{error}");
        }
        for past in [
            NOW,
            "2026-11-30T07:32:19.999999999Z",
            "1970-01-01T00:00:00Z",
        ] {
            assert!(matches!(judge("/d", past), Ok(OptIn::Expired(_))), "{past}");
        }
        for ahead in ["2026-11-30T07:32:20.000000001Z", "2026-12-03T07:32:20Z"] {
            assert!(
                matches!(judge("/d", ahead), Ok(OptIn::On { .. })),
                "{ahead}"
            );
        }
    }

    impl PartialEq for Error {
        fn eq(&self, other: &Self) -> bool {
            self.kind() == other.kind() && self.to_string() == other.to_string()
        }
    }

    #[test]
    fn a_setting_keeps_its_name_and_an_empty_value_is_none() {
        let unset = Setting::unset("UNTIL");
        assert_eq!(unset.name(), "UNTIL");
        assert_eq!(Setting::new("UNTIL", Some("".into())), unset);
        assert_ne!(Setting::new("UNTIL", Some(NOW.into())), unset);
    }

    #[test]
    fn the_longest_window_is_three_days() {
        assert_eq!(Window::LENGTH_MAX, Duration::from_secs(259_200));
    }

    #[test]
    fn a_clock_stepped_back_cannot_stretch_the_window() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30);
        let window = Window::until(now + Duration::from_secs(60), now)
            .expect("valid")
            .expect("open");
        assert_eq!(window.remaining(now), Duration::from_secs(60));
        assert_eq!(window.remaining(SystemTime::UNIX_EPOCH), Window::LENGTH_MAX);
        assert_eq!(
            window.remaining(now + Duration::from_secs(61)),
            Duration::ZERO
        );
    }
}
