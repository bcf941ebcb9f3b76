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
        let (used, covered) = match &sidecar.coverage {
            Some(coverage) => (
                Some(coverage.cpu_used_seconds),
                coverage.cpu_covered_seconds,
            ),
            None => (cpu_seconds(sidecar), sidecar.samples as f64 / frequency),
        };
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
