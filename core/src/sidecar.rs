//! What stands beside a profile.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Snapshot, Timestamp};

/// The sidecar of a capture: JSON that says what the profile beside it is, and
/// how far it can be trusted, without opening it.
///
/// Reading one passes over fields it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Sidecar {
    /// `periodic`, or the name that asked for the capture.
    pub reason: String,
    /// The start of the capture, which is also its name.
    pub started_at: Timestamp,
    /// The end of sampling.
    pub finished_at: Timestamp,
    /// The deadline that the operator set.
    pub until: Timestamp,
    /// The compiler that built the service.
    pub rust_version: String,
    /// Who sampled.
    pub sampler: SidecarSampler,
    /// The sum of `samples/count` in the profile, unscaled.
    pub samples: u64,
    /// Samples known to be missing.
    pub lost: u64,
    /// What the sampler saw and missed in detail; left out by one that cannot
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The binary that ran; left out if it has no build id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<SidecarExecutable>,
    /// The size of the profile.
    pub bytes: u64,
    /// The SHA-256 of the profile in lower-case hexadecimal.
    pub sha256: String,
    /// Requests dropped since the previous capture's start.
    pub requests: Requests,
    /// The process before sampling began.
    pub before: Snapshot,
    /// The process after sampling ended.
    pub after: Snapshot,
}

/// Who took the samples of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SidecarSampler {
    /// The sampler's name.
    pub name: String,
    /// The sampler's version.
    pub version: String,
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
}

/// What a sampler saw and missed. Samples are weighted here as they are in the
/// profile: one that stands for several counts as several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Coverage {
    /// Samples left out since the buffer was full.
    pub lost_buffer_full: u64,
    /// Samples left out since they were late.
    pub lost_late: u64,
    /// Samples left out since there were too many different ones.
    pub lost_memory: u64,
    /// Of the samples in the profile, those without a task.
    pub unlabelled: u64,
    /// Of those in the profile, those from stacks larger than what is looked at.
    pub cut: u64,
    /// Of those in the profile, those whose stack could not be followed to its
    /// root for another reason.
    pub broken: u64,
    /// Of those in the profile, those without any stack.
    pub without_stack: u64,
    /// Of those in the profile, those that a timer of the whole process took
    /// from threads that had none of their own.
    pub by_process_timer: u64,
    /// Of those in the profile, those that were due at the end of the capture
    /// and were counted with their thread's latest stack.
    pub carried: u64,
    /// Threads that were seen.
    pub threads_seen: u64,
    /// Of those, which missed samples since they block the signal.
    pub threads_blocking: u64,
    /// Of those, which got no timer of their own since the system refused one.
    pub threads_refused: u64,
    /// Threads whose labels could not be read, since the process began.
    pub threads_without_label: u64,
    /// CPU time that the process used while it was sampled.
    #[serde(rename = "CPUUsedSeconds")]
    pub cpu_used_seconds: f64,
    /// CPU time that the samples in the profile stand for.
    #[serde(rename = "CPUCoveredSeconds")]
    pub cpu_covered_seconds: f64,
    /// CPU time that the sampler's own thread used.
    #[serde(rename = "CPUSamplerSeconds")]
    pub cpu_sampler_seconds: f64,
    /// What told when a sample was due.
    pub time_source: TimeSource,
    /// Whether there was a timer for threads without one of their own.
    pub has_process_timer: bool,
    /// Whether somebody else took the signal for a while.
    pub was_displaced: bool,
}

/// What told a sampler when a sample of a thread was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TimeSource {
    /// A timer on the CPU clock of each thread.
    #[default]
    ThreadTimers,
    /// A perf event of each thread, which the system allowed where it refused
    /// timers. It sees CPU time in user space alone, and no thread that lives
    /// for a few milliseconds.
    PerfEvents,
    /// One that this version has no word for.
    #[serde(other)]
    Unknown,
}

/// The binary that was sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SidecarExecutable {
    /// Its build id in lower-case hexadecimal.
    pub build_id: String,
}

/// Requests that led to no capture, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Requests {
    /// They came inside the cooldown.
    pub cooldown: u64,
    /// Somebody else in the process was profiling.
    pub busy: u64,
    /// One was waiting already.
    pub pending: u64,
}

impl Requests {
    /// How many more these are than `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            cooldown: self.cooldown - earlier.cooldown,
            busy: self.busy - earlier.busy,
            pending: self.pending - earlier.pending,
        }
    }
}

impl Sidecar {
    /// The sidecar as indented JSON with a final newline.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if it is over `bytes_max`.
    pub fn to_json(&self, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| {
            Error::new(
                ErrorKind::Snapshot,
                "the sidecar is not representable as JSON",
            )
            .with_source(error)
        })?;
        json.push(b'\n');
        if json.len() as u64 > bytes_max {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the sidecar has {} bytes, over its limit of {bytes_max}: \
                     the application's snapshot must be smaller",
                    json.len()
                ),
            ));
        }
        Ok(json)
    }

    /// Reads a sidecar.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if `json` is not one.
    pub fn from_json(json: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(json)
            .map_err(|error| Error::new(ErrorKind::Storage, "not a sidecar").with_source(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_since_are_the_difference_of_each_cause() {
        let all = |cooldown, busy, pending| Requests {
            cooldown,
            busy,
            pending,
        };
        assert_eq!(all(9, 8, 7).since(all(3, 2, 1)), all(6, 6, 6));
    }

    #[test]
    fn a_sidecar_may_have_exactly_its_limit() {
        let time = Timestamp::from(std::time::SystemTime::UNIX_EPOCH);
        let sidecar = Sidecar {
            reason: "periodic".into(),
            started_at: time,
            finished_at: time,
            until: time,
            rust_version: "1.89.0".into(),
            sampler: SidecarSampler {
                name: "scripted".into(),
                version: "1".into(),
                frequency_hz: 100,
            },
            samples: 0,
            lost: 0,
            coverage: None,
            executable: None,
            bytes: 0,
            sha256: String::new(),
            requests: Requests::default(),
            before: Snapshot::default(),
            after: Snapshot::default(),
        };
        let bytes = sidecar.to_json(u64::MAX).expect("fits").len() as u64;
        assert!(sidecar.to_json(bytes).is_ok());
        let error = sidecar.to_json(bytes - 1).expect_err("one too many");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}
