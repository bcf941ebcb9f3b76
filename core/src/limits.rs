//! How much may be left on disk: limits, and the judgement before a capture.

use std::fmt;

use crate::store::Usage;
use crate::{Error, ErrorKind};

/// What a recorder may leave in its directory. Every value that exists is a
/// valid one, and none is unbounded.
///
/// | | default | most |
/// |---|---|---|
/// | entries in the directory, ours or not | 512 | 16,384 |
/// | bytes in the directory | 256 MiB | 16 GiB |
/// | bytes of one profile | 8 MiB | 64 MiB |
/// | bytes of one sidecar | 16 KiB | 1 MiB |
///
/// ```
/// use tachograph_core::Limits;
///
/// let limits = Limits::builder().bytes_max(64 << 20).build()?;
/// assert_eq!(limits.entries_max(), 512);
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    entries_max: u64,
    bytes_max: u64,
    profile_bytes_max: u64,
    sidecar_bytes_max: u64,
}

impl Limits {
    /// How many entries a capture adds: the profile and its sidecar.
    pub const ENTRIES_PER_CAPTURE: u64 = 2;

    /// Starts from the defaults.
    pub fn builder() -> LimitsBuilder {
        LimitsBuilder {
            limits: Self::default(),
        }
    }

    /// The most entries that may stand in the directory.
    pub fn entries_max(&self) -> u64 {
        self.entries_max
    }

    /// The most bytes that the directory's regular files may have.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The most bytes one profile may have, compressed.
    pub fn profile_bytes_max(&self) -> u64 {
        self.profile_bytes_max
    }

    /// The most bytes one sidecar may have.
    pub fn sidecar_bytes_max(&self) -> u64 {
        self.sidecar_bytes_max
    }

    /// What one full capture may need, in bytes.
    fn capture_bytes(&self) -> u64 {
        self.profile_bytes_max + self.sidecar_bytes_max
    }

    /// Whether a full capture still fits beside what is there.
    ///
    /// # Errors
    ///
    /// Says which budget is exhausted.
    pub fn judge(&self, usage: &Usage) -> Result<(), Exhausted> {
        let entries_allowed = self.entries_max - Self::ENTRIES_PER_CAPTURE;
        let bytes_allowed = self.bytes_max - self.capture_bytes();
        if usage.entries > entries_allowed {
            Err(Exhausted::Entries {
                found: usage.entries,
                allowed: entries_allowed,
            })
        } else if usage.bytes > bytes_allowed {
            Err(Exhausted::Bytes {
                found: usage.bytes,
                allowed: bytes_allowed,
            })
        } else {
            match usage.bytes_free {
                Some(free) if free < self.capture_bytes() => Err(Exhausted::FreeSpace {
                    free,
                    needed: self.capture_bytes(),
                }),
                _ => Ok(()),
            }
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries_max: 512,
            bytes_max: 256 << 20,
            profile_bytes_max: 8 << 20,
            sidecar_bytes_max: 16 << 10,
        }
    }
}

/// Collects the values of [`Limits`].
#[derive(Clone, Copy, Debug)]
#[must_use = "limits are made by `build`"]
pub struct LimitsBuilder {
    limits: Limits,
}

impl LimitsBuilder {
    /// The most entries that may stand in the directory, ours or not.
    pub fn entries_max(mut self, entries: u64) -> Self {
        self.limits.entries_max = entries;
        self
    }

    /// The most bytes that the directory's regular files may have.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.limits.bytes_max = bytes;
        self
    }

    /// The most bytes one profile may have, compressed.
    pub fn profile_bytes_max(mut self, bytes: u64) -> Self {
        self.limits.profile_bytes_max = bytes;
        self
    }

    /// The most bytes one sidecar may have.
    pub fn sidecar_bytes_max(mut self, bytes: u64) -> Self {
        self.limits.sidecar_bytes_max = bytes;
        self
    }

    /// Checks the values together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`], naming the value that is out of its bounds.
    pub fn build(self) -> Result<Limits, Error> {
        let limits = self.limits;
        let within = |name: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::new(
                    ErrorKind::Setting,
                    format!("{name} is {value}: it must be {least} to {most}"),
                ))
            }
        };
        within("profile_bytes_max", limits.profile_bytes_max, 1, 64 << 20)?;
        within("sidecar_bytes_max", limits.sidecar_bytes_max, 1, 1 << 20)?;
        within(
            "entries_max",
            limits.entries_max,
            Limits::ENTRIES_PER_CAPTURE,
            16_384,
        )?;
        within(
            "bytes_max",
            limits.bytes_max,
            limits.capture_bytes(),
            16 << 30,
        )?;
        Ok(limits)
    }
}

/// Which budget leaves no room for a further capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// Too many entries stand in the directory.
    Entries {
        /// How many were found (counting stopped once it was decided).
        found: u64,
        /// How many may stand there before a capture.
        allowed: u64,
    },
    /// The regular files in the directory are too large together.
    Bytes {
        /// How many bytes were found.
        found: u64,
        /// How many may stand there before a capture.
        allowed: u64,
    },
    /// The file system could not hold a full capture.
    FreeSpace {
        /// Bytes available to this process.
        free: u64,
        /// Bytes a full capture may need.
        needed: u64,
    },
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries { found, allowed } => write!(
                f,
                "the directory has {found} entries, and a capture is taken at {allowed} or fewer"
            ),
            Self::Bytes { found, allowed } => write!(
                f,
                "the directory has {found} bytes, and a capture is taken at {allowed} or fewer"
            ),
            Self::FreeSpace { free, needed } => write!(
                f,
                "the file system has {free} bytes free, and a full capture may need {needed}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(entries: u64, bytes: u64, bytes_free: Option<u64>) -> Usage {
        Usage {
            entries,
            bytes,
            bytes_free,
        }
    }

    #[test]
    fn each_budget_holds_at_its_boundary() {
        let limits = Limits::default();
        let bytes = (256 << 20) - (8 << 20) - (16 << 10);
        let free = Some((8 << 20) + (16 << 10));
        assert_eq!(limits.judge(&usage(510, bytes, free)), Ok(()));
        assert_eq!(limits.judge(&usage(510, bytes, None)), Ok(()));
        assert!(matches!(
            limits.judge(&usage(511, 0, None)),
            Err(Exhausted::Entries {
                found: 511,
                allowed: 510
            })
        ));
        assert!(matches!(
            limits.judge(&usage(0, bytes + 1, None)),
            Err(Exhausted::Bytes { .. })
        ));
        assert!(matches!(
            limits.judge(&usage(0, 0, free.map(|free| free - 1))),
            Err(Exhausted::FreeSpace { .. })
        ));
    }

    #[test]
    fn each_limit_is_the_one_that_was_set_and_both_ends_can_be() {
        let most = Limits::builder()
            .entries_max(16_384)
            .bytes_max(16 << 30)
            .profile_bytes_max(64 << 20)
            .sidecar_bytes_max(1 << 20)
            .build()
            .expect("the most there is");
        assert_eq!(most.entries_max(), 16_384);
        assert_eq!(most.bytes_max(), 16 << 30);
        assert_eq!(most.profile_bytes_max(), 64 << 20);
        assert_eq!(most.sidecar_bytes_max(), 1 << 20);
        // Room for exactly one capture.
        let least = Limits::builder()
            .entries_max(2)
            .bytes_max(2)
            .profile_bytes_max(1)
            .sidecar_bytes_max(1)
            .build()
            .expect("the least there is");
        assert_eq!(least.judge(&usage(0, 0, Some(2))), Ok(()));
        for full in [usage(1, 0, None), usage(0, 1, None), usage(0, 0, Some(1))] {
            assert!(least.judge(&full).is_err(), "{full:?}");
        }
    }

    #[test]
    fn no_limit_can_be_taken_away() {
        for builder in [
            Limits::builder().entries_max(1),
            Limits::builder().entries_max(u64::MAX),
            Limits::builder().bytes_max(1 << 20),
            Limits::builder().bytes_max(u64::MAX),
            Limits::builder().profile_bytes_max(0),
            Limits::builder().profile_bytes_max(u64::MAX),
            Limits::builder().sidecar_bytes_max(0),
            Limits::builder().sidecar_bytes_max(u64::MAX),
        ] {
            let error = builder.build().expect_err("out of bounds");
            assert_eq!(error.kind(), ErrorKind::Setting);
            assert!(error.to_string().contains("_max is "), "{error}");
        }
        assert_eq!(Limits::builder().build().expect("valid"), Limits::default());
    }
}
