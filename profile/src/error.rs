//! The one error type of this crate.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// What went wrong, as a category a program can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// This platform cannot tell what is loaded in the process.
    Unsupported,
    /// The system refused a read or a write.
    Io,
    /// The bytes are not a valid profile.
    Malformed,
    /// The input is larger than the caller allowed.
    TooLarge,
}

/// A failure to read, write or understand a profile.
///
/// The text names what was wrong and what would be right. It never repeats the
/// text of its [`source`](StdError::source). In the alternate form, `{:#}`, it prints
/// its causes too, in one line.
///
/// ```
/// use tachograph_profile::Profile;
///
/// let error = Profile::decode(b"\x1f\x8b\x08", 1 << 20).expect_err("cut short");
/// assert_eq!(error.to_string(), "the gzip compression is damaged or cut short");
/// assert!(format!("{error:#}").starts_with(&format!("{error}: ")));
/// ```
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// The category of this failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("source", &self.source)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if f.alternate() {
            let mut cause = self.source();
            while let Some(error) = cause {
                write!(f, ": {error}")?;
                cause = error.source();
            }
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;
