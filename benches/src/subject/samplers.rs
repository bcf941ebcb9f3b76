//! The project's samplers, as the workload sees them.

use std::sync::Arc;
use std::time::SystemTime;

use tachograph_core::{CappedWriter, Sampler, Session, Span};
use tachograph_sampler_linux::LinuxSampler;
use tachograph_sampler_pprof::PprofSampler;

use crate::workload::Failure;
use crate::workload::profiler::{Profiler, Running};

/// The sampler of that name; `None` for `none`.
pub(super) fn by_name(name: &str) -> Result<Option<Arc<dyn Sampler>>, Failure> {
    match name {
        "none" => Ok(None),
        "linux" => Ok(Some(Arc::new(LinuxSampler::new()))),
        "pprof" => Ok(Some(Arc::new(PprofSampler::new()))),
        _ => Err(format!("no such sampler: {name}").into()),
    }
}

/// A sampler without a recorder around it.
pub(super) struct Sampled {
    sampler: Arc<dyn Sampler>,
}

impl Sampled {
    pub(super) fn new(sampler: Arc<dyn Sampler>) -> Self {
        Self { sampler }
    }
}

impl Profiler for Sampled {
    fn start(&self, hz: u32) -> Result<Box<dyn Running>, Failure> {
        Ok(Box::new(Capture {
            started_at: SystemTime::now(),
            session: self.sampler.start(hz)?,
        }))
    }
}

struct Capture {
    started_at: SystemTime,
    session: Box<dyn Session>,
}

impl Running for Capture {
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Failure> {
        let samples = self.session.stop()?;
        let span = Span {
            started_at: self.started_at,
            duration: self.started_at.elapsed()?,
        };
        // The default limit of a profile.
        let mut writer = CappedWriter::new(8 << 20);
        samples.encode(span, &mut writer)?;
        Ok(writer.into_bytes())
    }
}
