//! A session of sampling and what it sampled.

use std::time::Duration;

use pprof::UnresolvedReport;
use tachograph_core::{
    CappedWriter, Error, ErrorKind, Samples, SamplingGuard, Session, Span, Truth,
};

use crate::Names;
use crate::encode::encode;
use crate::profiler::{self, Profiler};

pub(crate) struct PprofSession {
    // Dropped before the guard: the profiler is free again only when it has
    // stopped.
    profiler: Profiler,
    _guard: SamplingGuard,
    frequency_hz: u32,
    names: Names,
    started_at_cpu: Duration,
}

impl PprofSession {
    pub(crate) fn start(frequency_hz: u32, names: Names) -> Result<Self, Error> {
        let max = crate::PprofSampler::FREQUENCY_HZ_MAX;
        if !(1..=max).contains(&frequency_hz) {
            return Err(Error::new(
                ErrorKind::Setting,
                format!("frequency_hz is {frequency_hz}: it must be 1 to {max}"),
            ));
        }
        let guard = SamplingGuard::acquire()?;
        profiler::check_signal_is_free()?;
        let profiler = Profiler::start(frequency_hz)?;
        Ok(Self {
            started_at_cpu: profiler::cpu_time(),
            profiler,
            _guard: guard,
            frequency_hz,
            names,
        })
    }
}

impl Session for PprofSession {
    fn check(&self) -> Result<(), Error> {
        self.profiler.check()
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        let (report, ended_at_cpu) = self.profiler.take()?;
        Ok(Box::new(PprofSamples {
            report,
            cpu: ended_at_cpu.saturating_sub(self.started_at_cpu),
            frequency_hz: self.frequency_hz,
            names: self.names,
        }))
    }
}

/// Stacks with their counts, not symbolized yet.
pub(crate) struct PprofSamples {
    pub(crate) report: UnresolvedReport,
    /// The CPU time that the process used while it was sampled.
    pub(crate) cpu: Duration,
    pub(crate) frequency_hz: u32,
    pub(crate) names: Names,
}

impl Samples for PprofSamples {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        encode(*self, span, profile)
    }
}
