//! What a sidecar says of its profile's truth, without opening the profile.

use tachograph_core::{ProcessCpu, Sidecar};

/// How far a profile can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The samples stand for the CPU time that was used.
    True,
    /// So little CPU time was used that nothing can be said.
    Idle,
    /// CPU time was used, and there is no sample.
    Hollow,
    /// The samples stand for this share of the CPU time that was used.
    Covers(f64),
    /// The system could not tell how much CPU time was used.
    Unknown,
}

/// Below so many samples that were to be expected, chance decides.
const EXPECTED_LEAST: f64 = 10.0;
/// A share of CPU time between these is as good as sampling gets.
const SHARE_TRUE: std::ops::RangeInclusive<f64> = 0.8..=1.25;

impl Verdict {
    pub(crate) fn of(sidecar: &Sidecar) -> Self {
        let frequency = f64::from(sidecar.sampler.frequency_hz);
        // By the sampler if it could tell, else by the snapshots, which are further apart.
        let used = match &sidecar.coverage {
            Some(coverage) => Some(coverage.cpu_used_seconds),
            None => cpu_seconds(sidecar),
        };
        let covered = sidecar.samples as f64 / frequency;
        let Some(used) = used.filter(|it| it.is_finite() && frequency > 0.0) else {
            return Self::Unknown;
        };
        // What few samples there are must not stand for much more than was used.
        if used.max(covered) * frequency < EXPECTED_LEAST {
            return Self::Idle;
        }
        if sidecar.samples == 0 {
            return Self::Hollow;
        }
        let share = covered / used;
        match SHARE_TRUE.contains(&share) {
            true => Self::True,
            false => Self::Covers(share),
        }
    }

    /// One word, for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::Idle => "idle",
            Self::Hollow => "hollow",
            Self::Covers(_) => "covers",
            Self::Unknown => "unknown",
        }
    }

    /// For people.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Covers(share) => format!("covers {:.0} %", 100.0 * share),
            Self::Hollow => "hollow: no samples".to_owned(),
            other => other.word().to_owned(),
        }
    }

    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Hollow | Self::Covers(_))
    }
}

/// CPU time that the process used between the snapshots; `None` if the system could
/// not tell.
pub(crate) fn cpu_seconds(sidecar: &Sidecar) -> Option<f64> {
    let total = |cpu: ProcessCpu| cpu.user_seconds + cpu.system_seconds;
    let before = sidecar.before.process_cpu.map(total)?;
    let after = sidecar.after.process_cpu.map(total)?;
    Some(after - before)
}

/// How long the capture took.
pub(crate) fn seconds(sidecar: &Sidecar) -> f64 {
    let start = sidecar.started_at.system_time();
    let end = sidecar.finished_at.system_time();
    end.duration_since(start).unwrap_or_default().as_secs_f64()
}

/// CPU time by wall time: how many cores were busy.
pub(crate) fn cores(sidecar: &Sidecar) -> Option<f64> {
    let cores = cpu_seconds(sidecar)? / seconds(sidecar);
    cores.is_finite().then_some(cores)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A capture of 2 s at 100 Hz that used 1 s of CPU time by the snapshots.
    fn sidecar(samples: u64, coverage: Option<Value>) -> Sidecar {
        let snapshot = |seconds: f64| json!({ "ProcessCPU": { "UserSeconds": seconds, "SystemSeconds": 0.5 } });
        let mut json = json!({
            "Reason": "periodic",
            "StartedAt": "2026-11-30T14:30:00Z",
            "FinishedAt": "2026-11-30T14:30:02Z",
            "Until": "2026-11-30T15:30:00Z",
            "RustVersion": "1.95.0",
            "Sampler": { "Name": "linux", "Version": "0.1.0", "FrequencyHz": 100 },
            "Samples": samples,
            "Lost": 0,
            "Bytes": 1,
            "Sha256": "",
            "Requests": { "Cooldown": 0, "Busy": 0, "Pending": 0 },
            "Before": snapshot(1.0),
            "After": snapshot(2.0),
        });
        if let Some(coverage) = coverage {
            json["Coverage"] = coverage;
        }
        Sidecar::from_json(json.to_string().as_bytes()).expect("a sidecar")
    }

    #[test]
    fn samples_are_held_against_the_time_that_was_used() {
        let verdict = |samples| Verdict::of(&sidecar(samples, None));
        assert_eq!(verdict(100), Verdict::True);
        assert_eq!(verdict(85), Verdict::True);
        assert_eq!(verdict(50), Verdict::Covers(0.5));
        assert_eq!(verdict(200), Verdict::Covers(2.0));
        assert_eq!(verdict(0), Verdict::Hollow);
    }

    #[test]
    fn what_the_sampler_knows_counts_for_more_than_the_snapshots() {
        let used = |seconds: f64| Some(json!({ "CPUUsedSeconds": seconds }));
        assert_eq!(Verdict::of(&sidecar(50, used(0.5))), Verdict::True);
        assert_eq!(Verdict::of(&sidecar(5, used(0.05))), Verdict::Idle);
        assert_eq!(Verdict::of(&sidecar(0, used(0.0))), Verdict::Idle);
        assert_eq!(Verdict::of(&sidecar(50, used(2.0))), Verdict::Covers(0.25));
    }

    #[test]
    fn without_a_clock_there_is_no_verdict() {
        let mut sidecar = sidecar(100, None);
        sidecar.before.process_cpu = None;
        assert_eq!(Verdict::of(&sidecar), Verdict::Unknown);
        assert_eq!(cores(&sidecar), None);
        sidecar.sampler.frequency_hz = 0;
        assert_eq!(Verdict::of(&sidecar), Verdict::Unknown);
    }

    #[test]
    fn cores_are_cpu_time_by_wall_time() {
        assert_eq!(cores(&sidecar(100, None)), Some(0.5));
    }
}
