//! Why a command ends.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why a command ends without having done what it was asked to.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command cannot be meant like this.
    Misuse(String),
    /// What was asked for is not there, or not as it should be.
    Finding(String),
    /// Standard output does not take more.
    Output(io::Error),
}

/// What commands return.
pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Misuse(_) => ExitCode::from(2),
            Self::Finding(_) | Self::Output(_) => ExitCode::from(1),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(message) | Self::Finding(message) => f.write_str(message),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}
