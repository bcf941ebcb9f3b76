//! A session of sampling and what it sampled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem};

use tachograph_core::{
    CappedWriter, Error, ErrorKind, Samples, SamplingGuard, Session, Span, Truth,
};

use super::capture::Capture;
use super::drain::{Drain, Harvest};
use super::encode::encode;
use super::ring::SLOTS_MAX;
use super::{kernel, registry, signal};
use crate::{LinuxSampler, Names};

pub(crate) struct LinuxSession {
    // Joined before the guard is dropped: the process is free to be sampled
    // again only when this has stopped.
    drain: Option<JoinHandle<Harvest>>,
    capture: Arc<Capture>,
    _guard: SamplingGuard,
    frequency_hz: u32,
    names: Names,
}

impl LinuxSession {
    pub(crate) fn start(
        frequency_hz: u32,
        names: Names,
        stack_bytes: usize,
    ) -> Result<Self, Error> {
        let max = LinuxSampler::FREQUENCY_HZ_MAX;
        if !(1..=max).contains(&frequency_hz) {
            return Err(Error::new(
                ErrorKind::Setting,
                format!("frequency_hz is {frequency_hz}: it must be 1 to {max}"),
            ));
        }
        let guard = SamplingGuard::acquire()?;
        registry::observe_labels();
        signal::install()?;
        let period = Duration::from_secs(1) / frequency_hz;
        let capture = Arc::new(
            Capture::new(slots(), stack_bytes, period)
                .map_err(failed("cannot get memory for samples"))?,
        );
        let drain = Drain::start(Arc::clone(&capture))?;
        // If there is no thread, the closure is dropped, which ends the capture.
        let drain = thread::Builder::new()
            .name("tachograph".into())
            .spawn(move || drain.run())
            .map_err(failed("cannot start the sampler's thread"))?;
        Ok(Self {
            drain: Some(drain),
            capture,
            _guard: guard,
            frequency_hz,
            names,
        })
    }

    /// Stops sampling and returns what there is; none if there is nothing to
    /// stop any more, or the process that could.
    fn finish(&mut self) -> Option<thread::Result<Harvest>> {
        let drain = self.drain.take()?;
        if self.capture.process != kernel::process_id() {
            // A forked child: the thread is the parent's, and even to let go of
            // it would touch what is not here.
            mem::forget(drain);
            return None;
        }
        self.capture.stop.store(true, Ordering::Release);
        self.capture.ring_bell();
        Some(drain.join())
    }
}

impl Session for LinuxSession {
    fn check(&self) -> Result<(), Error> {
        match &self.drain {
            Some(drain) if drain.is_finished() => Err(Error::new(
                ErrorKind::Sampling,
                "the sampler's thread has ended",
            )),
            _ => Ok(()),
        }
    }

    fn stop(mut self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        match self.finish() {
            Some(Ok(harvest)) => Ok(Box::new(LinuxSamples {
                harvest,
                frequency_hz: self.frequency_hz,
                names: self.names,
            })),
            Some(Err(_)) => Err(Error::new(
                ErrorKind::Sampling,
                "the sampler's thread panicked",
            )),
            None => Err(Error::new(
                ErrorKind::Sampling,
                "this process was forked while its parent sampled",
            )),
        }
    }
}

impl Drop for LinuxSession {
    fn drop(&mut self) {
        // Samples that nobody wants, or a panic that was reported on its way.
        drop(self.finish());
    }
}

/// Stacks with their counts, not symbolized yet.
pub(crate) struct LinuxSamples {
    pub(crate) harvest: Harvest,
    pub(crate) frequency_hz: u32,
    pub(crate) names: Names,
}

impl Samples for LinuxSamples {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        encode(*self, span, profile)
    }
}

/// Enough for every CPU to be sampled at the highest frequency for a while.
fn slots() -> usize {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    (cpus * 32).clamp(128, SLOTS_MAX)
}

fn failed(message: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::new(ErrorKind::Sampling, message).with_source(source)
}
