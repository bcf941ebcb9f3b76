//! What work may be called.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Error, ErrorKind};

/// The name of a task, a trigger, or the reason of a request: 1 to 64 bytes of
/// UTF-8 without control characters, and not `periodic`, which is the
/// recorder's own reason.
///
/// ```
/// use tachograph_core::Name;
///
/// assert_eq!(Name::new("compaction")?.as_str(), "compaction");
/// assert!(Name::new("").is_err());
/// assert!(Name::new("periodic").is_err());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The longest name, in bytes.
    pub const BYTES_MAX: usize = 64;

    /// The reason that belongs to the recorder.
    pub const PERIODIC: &'static str = "periodic";

    /// Checks `name`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`], quoting the name (shortened if it is long), if
    /// it breaks one of the rules above.
    pub fn new(name: &str) -> Result<Self, Error> {
        let problem = if name.is_empty() {
            "is empty"
        } else if name.len() > Self::BYTES_MAX {
            "is too long"
        } else if name.chars().any(char::is_control) {
            "has a control character"
        } else if name == Self::PERIODIC {
            "is reserved for the recorder's own captures"
        } else {
            return Ok(Self(name.into()));
        };
        let shown: String = name.chars().take(Self::BYTES_MAX).collect();
        let more = if shown.len() < name.len() { "..." } else { "" };
        Err(Error::new(
            ErrorKind::Setting,
            format!(
                "the name {shown:?}{more} {problem}: a task, trigger or reason has 1 to {} bytes \
                 of UTF-8 without control characters, and is not {:?}",
                Self::BYTES_MAX,
                Self::PERIODIC
            ),
        ))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

/// Why a capture was taken.
///
/// ```
/// use tachograph_core::{Name, Reason};
///
/// assert_eq!(Reason::Periodic.to_string(), "periodic");
/// let reason = Reason::Requested(Name::new("compaction")?);
/// assert_eq!(reason.to_string(), "compaction");
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The interval came round, or recording began.
    Periodic,
    /// A trigger fired, or the application asked.
    Requested(Name),
}

impl Reason {
    /// The reason as text: `periodic`, or the name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Periodic => Name::PERIODIC,
            Self::Requested(name) => name.as_str(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_exactly() {
        assert!(Name::new(&"a".repeat(64)).is_ok());
        assert!(Name::new(&"a".repeat(65)).is_err());
        // 64 bytes, not 64 characters.
        assert!(Name::new(&"\u{e9}".repeat(32)).is_ok());
        assert!(Name::new(&"\u{e9}".repeat(33)).is_err());
    }

    #[test]
    fn bad_names_are_quoted() {
        for (name, quoted, problem) in [
            ("", "\"\"", "empty"),
            ("a\nb", "\"a\\nb\"", "control"),
            ("a\u{85}b", "\"a\\u{85}b\"", "control"),
            ("periodic", "\"periodic\"", "reserved"),
        ] {
            let text = Name::new(name).expect_err(name).to_string();
            assert!(text.contains(quoted), "{text}");
            assert!(text.contains(problem), "{text}");
        }
        let long = Name::new(&"x".repeat(10_000)).expect_err("too long");
        assert!(long.to_string().len() < 300);
    }
}
