//! What is known of one capture, apart from its samples.

use std::time::{Duration, SystemTime};

use tachograph_core::{Coverage, ProcessCpu, Requests, Sidecar, Snapshot, Window};
use tachograph_profile::Profile;

use crate::input::Capture;
use crate::sidecar::{self, Verdict};

/// One capture, as what lies between it and its neighbours depends on it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
    /// How long was sampled.
    pub(super) sampled: Duration,
    /// What the sidecar says, if there is one that can be read.
    pub(super) sidecar: Option<Sidecar>,
}

impl Facts {
    /// # Errors
    ///
    /// If the capture says it took longer than any can.
    pub(super) fn of(capture: &Capture, profile: &Profile) -> Result<Self, String> {
        let start = capture.name.start();
        let sidecar = capture.sidecar.as_ref().and_then(|it| it.as_ref().ok());
        let took = sidecar.and_then(|it| it.finished_at.system_time().duration_since(start).ok());
        let sampled = match profile.duration() {
            Duration::ZERO => took.unwrap_or_default(),
            duration => duration,
        };
        let took = took.unwrap_or(sampled);
        let longest = sampled.max(took);
        if longest > Window::LENGTH_MAX {
            return Err(format!(
                "it says that it took {} s; a window has at most {} s",
                longest.as_secs(),
                Window::LENGTH_MAX.as_secs()
            ));
        }
        Ok(Self {
            start,
            end: start + took,
            sampled,
            sidecar: sidecar.cloned(),
        })
    }

    /// When the window ends that it was taken in, unless that cannot be.
    pub(super) fn deadline(&self) -> Option<SystemTime> {
        let until = self.sidecar.as_ref()?.until.system_time();
        let left = until.duration_since(self.end).ok()?;
        (left <= Window::LENGTH_MAX).then_some(until)
    }

    pub(super) fn is_periodic(&self) -> bool {
        self.sidecar
            .as_ref()
            .is_some_and(|it| it.reason == "periodic")
    }

    /// CPU time that the process had used when this capture began.
    pub(super) fn cpu_before(&self) -> Option<f64> {
        total(self.sidecar.as_ref()?.before.process_cpu)
    }

    /// CPU time that the process had used when it ended.
    pub(super) fn cpu_after(&self) -> Option<f64> {
        total(self.sidecar.as_ref()?.after.process_cpu)
    }

    pub(super) fn build_id(&self) -> Option<&str> {
        Some(&self.sidecar.as_ref()?.executable.as_ref()?.build_id)
    }
}

fn total(cpu: Option<ProcessCpu>) -> Option<f64> {
    let cpu = cpu?;
    Some(cpu.user_seconds + cpu.system_seconds).filter(|it| it.is_finite())
}

/// Why a capture should be read with care, in words.
pub(super) fn warnings(sidecar: &Sidecar, samples: i64) -> Vec<String> {
    let mut warnings = Vec::new();
    match Verdict::of(sidecar) {
        Verdict::Hollow => {
            warnings.push("hollow: CPU time was used, and there is no sample".into())
        }
        Verdict::Covers(share) => warnings.push(format!(
            "the samples stand for {:.0} % of the CPU time that was used",
            100.0 * share
        )),
        Verdict::True | Verdict::Idle | Verdict::Unknown => {}
    }
    if u64::try_from(samples) != Ok(sidecar.samples) {
        warnings.push(format!(
            "the profile has {samples} samples, the sidecar says {}",
            sidecar.samples
        ));
    }
    warnings
}

/// A sidecar in lines of a name and one value, or one before and one after.
pub(super) fn details(sidecar: &Sidecar) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let mut one = |name: &str, value: String| lines.push(vec![name.to_owned(), value]);
    one("Reason", sidecar.reason.clone());
    one("Started", sidecar.started_at.to_string());
    one("Finished", sidecar.finished_at.to_string());
    one("Deadline", sidecar.until.to_string());
    let sampler = &sidecar.sampler;
    one("Sampler", sampler_of(sidecar));
    one("Frequency", format!("{} Hz", sampler.frequency_hz));
    one(
        "Samples",
        format!("{}, {} lost", sidecar.samples, sidecar.lost),
    );
    one("Verdict", Verdict::of(sidecar).text());
    if let Some(coverage) = &sidecar.coverage {
        one("Coverage", coverage_in_words(coverage));
    }
    one(
        "Requests dropped before",
        requests_in_words(sidecar.requests),
    );
    one("Rust", sidecar.rust_version.clone());
    if let Some(executable) = &sidecar.executable {
        one("Build id", executable.build_id.clone());
    }
    one(
        "Profile",
        format!("{} bytes, SHA-256 {}", sidecar.bytes, sidecar.sha256),
    );
    lines.extend(snapshots(&sidecar.before, &sidecar.after));
    lines
}

pub(super) fn sampler_of(sidecar: &Sidecar) -> String {
    format!("{} {}", sidecar.sampler.name, sidecar.sampler.version)
}

fn coverage_in_words(coverage: &Coverage) -> String {
    let mut words = vec![
        format!("{} threads seen", coverage.threads_seen),
        format!(
            "{:.2} s of {:.2} s of CPU covered",
            coverage.cpu_covered_seconds, coverage.cpu_used_seconds
        ),
    ];
    for (count, what) in [
        (coverage.unlabelled, "samples without a task"),
        (coverage.cut, "stacks cut"),
        (coverage.broken, "stacks broken off"),
        (coverage.without_stack, "samples without a stack"),
        (coverage.lost_buffer_full, "samples lost for a full buffer"),
        (coverage.lost_late, "samples lost for being late"),
        (
            coverage.lost_memory,
            "samples lost for too many different ones",
        ),
        (coverage.threads_blocking, "threads that block the signal"),
        (coverage.threads_refused, "threads without a timer"),
    ] {
        if count > 0 {
            words.push(format!("{count} {what}"));
        }
    }
    words.join(", ")
}

fn requests_in_words(requests: Requests) -> String {
    format!(
        "{} in the cooldown, {} while busy, {} behind a waiting one",
        requests.cooldown, requests.busy, requests.pending
    )
}

fn snapshots(before: &Snapshot, after: &Snapshot) -> Vec<Vec<String>> {
    let count = |it: Option<u64>| it.map(|it| it.to_string());
    let seconds = |it: Option<f64>| it.map(|it| format!("{it:.3} s"));
    let user = |it: &Snapshot| seconds(it.process_cpu.map(|it| it.user_seconds));
    let system = |it: &Snapshot| seconds(it.process_cpu.map(|it| it.system_seconds));
    let pool = |it: &Snapshot| it.pool.as_ref().map(|it| it.to_string());
    let lines = [
        ("CPU time, user", user(before), user(after)),
        ("CPU time, system", system(before), system(after)),
        ("Tasks", count(before.tasks), count(after.tasks)),
        ("Threads", count(before.threads), count(after.threads)),
        ("Workers", count(before.workers), count(after.workers)),
        (
            "Queue depth",
            count(before.queue_depth),
            count(after.queue_depth),
        ),
        ("Application", pool(before), pool(after)),
    ];
    let known: Vec<_> = lines
        .into_iter()
        .filter(|(_, before, after)| before.is_some() || after.is_some())
        .map(|(name, before, after)| {
            vec![
                name.to_owned(),
                before.unwrap_or_default(),
                after.unwrap_or_default(),
            ]
        })
        .collect();
    if known.is_empty() {
        return known;
    }
    let heading = vec![String::new(), "before".to_owned(), "after".to_owned()];
    std::iter::once(heading).chain(known).collect()
}

/// CPU seconds used in the capture, and how many cores that is; `None` if the system
/// could not tell, or tells what cannot be.
pub(super) fn used(sidecar: &Sidecar) -> Option<(f64, f64)> {
    let seconds = sidecar::cpu_seconds(sidecar)?;
    let cores = sidecar::cores(sidecar)?;
    (seconds >= 0.0 && cores >= 0.0).then_some((seconds, cores))
}
