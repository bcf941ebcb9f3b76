//! A sampler that does as it was told.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Fault;
use crate::{
    CappedWriter, Error, ErrorKind, LabelChannel, Sampler, SamplerInfo, Samples, Session, Span,
    Truth,
};

/// A sampler whose captures go as a test has written them. Its profiles are a
/// line of text. Clones are the same sampler.
///
/// ```
/// use tachograph_core::testing::{Fault, SamplerCall, ScriptedSampler};
/// use tachograph_core::{ErrorKind, Sampler};
///
/// let sampler = ScriptedSampler::new();
/// sampler.fault(2, SamplerCall::Start, Fault::Error(ErrorKind::Busy));
/// drop(sampler.start(100)?);
/// assert_eq!(sampler.start(100).err().map(|e| e.kind()), Some(ErrorKind::Busy));
/// assert!(!sampler.is_running());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedSampler {
    script: Arc<Script>,
}

#[derive(Debug, Default)]
struct Script {
    faults: Mutex<BTreeMap<(u64, SamplerCall), Fault>>,
    starts: AtomicU64,
    running: AtomicBool,
    profile_bytes: AtomicU64,
}

/// A call into a sampler, at which it may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SamplerCall {
    /// [`Sampler::start`].
    Start,
    /// [`Session::check`], the first time.
    Check,
    /// [`Session::stop`].
    Stop,
    /// [`Samples::encode`].
    Encode,
}

impl ScriptedSampler {
    /// A sampler whose captures all go well.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the `nth` session, counted from 1, go wrong at `call`.
    pub fn fault(&self, nth: u64, call: SamplerCall, fault: Fault) {
        self.script
            .faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((nth, call), fault);
    }

    /// Pads every profile to `bytes`.
    pub fn set_profile_bytes(&self, bytes: u64) {
        self.script.profile_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Whether a session runs.
    pub fn is_running(&self) -> bool {
        self.script.running.load(Ordering::SeqCst)
    }

    /// How many sessions were asked for.
    pub fn starts(&self) -> u64 {
        self.script.starts.load(Ordering::SeqCst)
    }
}

impl Script {
    fn call(&self, nth: u64, call: SamplerCall) -> Result<(), Error> {
        let fault = self
            .faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(nth, call));
        match fault {
            None => Ok(()),
            Some(fault) => fault.strike(&format!("session {nth} at {call:?}")),
        }
    }
}

impl Sampler for ScriptedSampler {
    fn info(&self) -> SamplerInfo {
        SamplerInfo {
            name: "scripted",
            version: env!("CARGO_PKG_VERSION"),
            frequency_hz_max: 1000,
            labels: LabelChannel::ThreadLocal,
        }
    }

    fn start(&self, _frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        let nth = self.script.starts.fetch_add(1, Ordering::SeqCst) + 1;
        self.script.call(nth, SamplerCall::Start)?;
        if self.script.running.swap(true, Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Busy, "a scripted session runs"));
        }
        Ok(Box::new(ScriptedSession {
            script: Arc::clone(&self.script),
            nth,
        }))
    }
}

struct ScriptedSession {
    script: Arc<Script>,
    nth: u64,
}

impl Session for ScriptedSession {
    fn check(&self) -> Result<(), Error> {
        self.script.call(self.nth, SamplerCall::Check)
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        self.script.call(self.nth, SamplerCall::Stop)?;
        Ok(Box::new(ScriptedSamples {
            script: Arc::clone(&self.script),
            nth: self.nth,
        }))
    }
}

impl Drop for ScriptedSession {
    fn drop(&mut self) {
        self.script.running.store(false, Ordering::SeqCst);
    }
}

struct ScriptedSamples {
    script: Arc<Script>,
    nth: u64,
}

impl Samples for ScriptedSamples {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        self.script.call(self.nth, SamplerCall::Encode)?;
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Sampling, "cannot write the profile").with_source(error)
        };
        let samples = u64::try_from(span.duration.as_millis() / 10).unwrap_or(u64::MAX);
        let line = format!("{samples} samples\n");
        profile.write_all(line.as_bytes()).map_err(failed)?;
        let bytes = self.script.profile_bytes.load(Ordering::Relaxed);
        let padding = (line.len() as u64..bytes).map(|_| b'.');
        profile
            .write_all(&padding.collect::<Vec<u8>>())
            .map_err(failed)?;
        Ok(Truth {
            samples,
            lost: 0,
            executable_build_id: None,
            coverage: None,
        })
    }
}
