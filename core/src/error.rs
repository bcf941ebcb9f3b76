//! One opaque error for every part of Tachograph.

use std::error::Error as StdError;
use std::fmt;

/// What a caller can do about an [`Error`].
///
/// More kinds may join, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting, name, policy or limit is not acceptable. The message names
    /// it, quotes the value and says what would be right. Nothing was changed.
    Setting,
    /// The private directory is not acceptable (not private, a symlink, ...)
    /// or cannot be reached.
    Directory,
    /// Another recorder holds the directory.
    InUse,
    /// Somebody else in this process is profiling.
    Busy,
    /// This platform has no implementation.
    Unsupported,
    /// The runtime that the recorder was told to use is not there.
    NoRuntime,
    /// A profile or sidecar is over its size limit.
    TooLarge,
    /// Sampling, symbolizing or encoding failed.
    Sampling,
    /// The store failed.
    Storage,
    /// A snapshot source failed, panicked or took too long.
    Snapshot,
    /// A part of the recorder panicked. The panic was contained.
    Panicked,
    /// The runtime refused blocking work: it is shutting down, or the system
    /// gives it no thread.
    ShuttingDown,
}

/// An error of a recorder or of one of its parts.
///
/// It prints its own level only; the cause, if there is one, is its
/// [`source`](StdError::source). In the alternate form, `{:#}`, it prints its
/// causes too, in one line.
///
/// ```
/// use tachograph_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Busy, "another profiler is running");
/// assert_eq!(error.kind(), ErrorKind::Busy);
/// assert_eq!(error.to_string(), "another profiler is running");
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error without a deeper cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into().into_boxed_str(),
            source: None,
        }
    }

    /// The same error, caused by `source`.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, said of the setting `name`.
    ///
    /// ```
    /// # use tachograph_core::{Error, ErrorKind};
    /// let error = Error::new(ErrorKind::Setting, "\"soon\" is not a time").of_setting("UNTIL");
    /// assert_eq!(error.to_string(), "UNTIL: \"soon\" is not a time");
    /// ```
    #[must_use]
    pub fn of_setting(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message).into_boxed_str();
        self
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
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
        match &self.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_prints_only_itself_and_the_chain_prints_all() {
        let inner = std::io::Error::other("the disk is gone");
        let error = Error::new(ErrorKind::Storage, "cannot publish").with_source(inner);
        assert_eq!(error.to_string(), "cannot publish");
        assert_eq!(format!("{error:#}"), "cannot publish: the disk is gone");
    }
}
