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
