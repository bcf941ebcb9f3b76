//! Directories with captures whose content is known to the last nanosecond.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tachograph_core::Timestamp;
use tachograph_core::store::CaptureName;
use tachograph_profile::{Profile, proto};

/// One stack of a capture with what it is worth.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Names of functions, the outermost caller first.
    pub(crate) stack: Vec<String>,
    pub(crate) task: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) count: i64,
    pub(crate) nanos: i64,
}

/// A capture as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) start: SystemTime,
    pub(crate) length: Duration,
    pub(crate) samples: Vec<Sample>,
    /// The sidecar, as JSON.
    pub(crate) sidecar: Value,
}

impl Capture {
    /// A capture at 100 Hz with a sidecar that agrees with its samples.
    pub(crate) fn new(
        start: SystemTime,
        length: Duration,
        reason: &str,
        samples: Vec<Sample>,
    ) -> Self {
        let time = |time: SystemTime| Timestamp::from(time).to_string();
        let count: i64 = samples.iter().map(|it| it.count).sum();
        let nanos: i64 = samples.iter().map(|it| it.nanos).sum();
        let sidecar = json!({
            "Reason": reason,
            "StartedAt": time(start),
            "FinishedAt": time(start + length),
            "Until": time(start + Duration::from_secs(3600)),
            "RustVersion": "1.95.0",
            "Sampler": { "Name": "linux", "Version": "0.1.0", "FrequencyHz": 100 },
            "Samples": count,
            "Lost": 0,
            "Bytes": 0,
            "Sha256": "",
            "Requests": { "Cooldown": 0, "Busy": 0, "Pending": 0 },
            "Before": { "ProcessCPU": { "UserSeconds": 0.0, "SystemSeconds": 0.0 } },
            "After": { "ProcessCPU": { "UserSeconds": nanos as f64 / 1e9, "SystemSeconds": 0.0 } },
        });
        Self {
            start,
            length,
            samples,
            sidecar,
        }
    }

    /// Sets a field of the sidecar, such as `/Requests/Cooldown`, which must be there.
    pub(crate) fn set(&mut self, field: &str, value: Value) {
        *self.sidecar.pointer_mut(field).expect(field) = value;
    }

    pub(crate) fn name(&self) -> CaptureName {
        CaptureName::new(self.start)
    }

    /// CPU time of all samples, in nanoseconds.
    pub(crate) fn nanos(&self) -> i64 {
        self.samples.iter().map(|it| it.nanos).sum()
    }

    /// Writes the profile and the sidecar.
    pub(crate) fn write(&self, directory: &Path) {
        let mut bytes = Vec::new();
        let profile = Profile::from_message(self.message()).expect("a coherent message");
        profile.encode_gz(&mut bytes).expect("memory takes all");
        let mut sidecar = self.sidecar.clone();
        sidecar["Bytes"] = bytes.len().into();
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|it| format!("{it:02x}"))
            .collect();
        sidecar["Sha256"] = digest.into();
        let name = self.name();
        std::fs::write(directory.join(name.profile()), bytes).expect("a profile");
        std::fs::write(directory.join(name.sidecar()), sidecar.to_string()).expect("a sidecar");
    }

    /// As the format has it, with a location for each function.
    pub(crate) fn message(&self) -> proto::Profile {
        let mut texts = Texts::default();
        texts.number("");
        let value_type = |texts: &mut Texts, name, unit| proto::ValueType {
            r#type: texts.number(name),
            unit: texts.number(unit),
        };
        let samples = value_type(&mut texts, "samples", "count");
        let cpu = value_type(&mut texts, "cpu", "nanoseconds");
        let mut message = proto::Profile {
            sample_type: vec![samples, cpu],
            period_type: Some(cpu),
            period: 10_000_000,
            duration_nanos: self.length.as_nanos() as i64,
            ..Default::default()
        };
        let mut functions: HashMap<String, u64> = HashMap::new();
        for sample in &self.samples {
            let location_id = sample
                .stack
                .iter()
                .rev()
                .map(|name| {
                    let next = functions.len() as u64 + 1;
                    let id = *functions.entry(name.clone()).or_insert(next);
                    if id == next {
                        message.function.push(proto::Function {
                            id,
                            name: texts.number(name),
                            ..Default::default()
                        });
                        message.location.push(proto::Location {
                            id,
                            line: vec![proto::Line {
                                function_id: id,
                                ..Default::default()
                            }],
                            ..Default::default()
                        });
                    }
                    id
                })
                .collect();
            let label = [("task", &sample.task), ("thread", &sample.thread)]
                .into_iter()
                .filter_map(|(key, text)| {
                    Some(proto::Label {
                        key: texts.number(key),
                        str: texts.number(text.as_ref()?),
                        ..Default::default()
                    })
                })
                .collect();
            message.sample.push(proto::Sample {
                location_id,
                value: vec![sample.count, sample.nanos],
                label,
            });
        }
        message.string_table = texts.all;
        message
    }
}

#[derive(Default)]
struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> i64 {
        let next = self.all.len() as i64;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.all.push(text.to_owned());
        }
        number
    }
}

/// A moment that all tests count from: 30 November 2026, 08:00 UTC.
pub(crate) fn morning() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_025_600)
}
