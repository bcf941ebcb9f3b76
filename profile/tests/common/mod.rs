//! What several tests use.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tachograph_profile::{Profile, ProfileBuilder, ProfileMeta};

/// A builder at 100 Hz with fixed times.
pub(crate) fn builder() -> ProfileBuilder {
    ProfileBuilder::new(ProfileMeta {
        started_at: SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789),
        duration: Duration::from_millis(30_250),
        frequency_hz: 100,
    })
}

/// The function names of one sample, leaf first.
pub(crate) fn stack(profile: &Profile, sample: usize) -> Vec<&str> {
    profile
        .samples()
        .nth(sample)
        .map(|sample| sample.stack().collect())
        .unwrap_or_default()
}

/// A file of one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes up the path; `name` must not be used by another test.
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Not every test creates its file.
        let _ = std::fs::remove_file(&self.0);
    }
}
