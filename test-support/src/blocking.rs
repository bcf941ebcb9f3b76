//! Parts of a recorder that tell of every call that may block.

use std::sync::Arc;

use tachograph_core::store::{CaptureName, Recovery, StagedCapture, Usage};
use tachograph_core::{
    CappedWriter, Error, Sampler, SamplerInfo, Samples, Session, Span, Store, Truth,
};

/// Is told of every call that may block, before it is made and on the thread that
/// makes it. So is it of drops, which may block as well.
#[derive(Clone)]
pub struct Witness(Arc<dyn Fn() + Send + Sync>);

impl Witness {
    /// One that does `what` at every call.
    pub fn new(what: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(what))
    }

    /// Tells it of a call.
    pub fn call(&self) {
        (self.0)();
    }

    /// `store`, with everything that is staged in it, under its eyes.
    pub fn store<S: Store>(&self, store: S) -> impl Store + use<S> {
        Watched::new(store, self)
    }

    /// `sampler`, its sessions and samples, under its eyes.
    pub fn sampler<S: Sampler>(&self, sampler: S) -> impl Sampler + use<S> {
        WatchedSampler {
            inner: sampler,
            witness: self.clone(),
        }
    }
}

/// A part whose every call, and whose drop, may block.
struct Watched<T> {
    inner: Option<T>,
    witness: Witness,
}

impl<T> Watched<T> {
    fn new(inner: T, witness: &Witness) -> Self {
        Self {
            inner: Some(inner),
            witness: witness.clone(),
        }
    }

    fn call(&self) -> &T {
        self.witness.call();
        self.inner.as_ref().expect("not taken")
    }

    fn take(mut self) -> T {
        self.witness.call();
        self.inner.take().expect("not taken")
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.witness.call();
    }
}

impl<S: Store> Store for Watched<S> {
    fn recover(&self) -> Result<Recovery, Error> {
        self.call().recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        self.call().usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        let staged = self.call().stage(name)?;
        Ok(Box::new(Watched::new(staged, &self.witness)))
    }

    fn close(&self) {
        self.call().close();
    }
}

impl StagedCapture for Watched<Box<dyn StagedCapture>> {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        self.take().publish(sidecar, profile)
    }
}

/// What it is, a sampler may be asked anywhere.
struct WatchedSampler<S> {
    inner: S,
    witness: Witness,
}

impl<S: Sampler> Sampler for WatchedSampler<S> {
    fn info(&self) -> SamplerInfo {
        self.inner.info()
    }

    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        self.witness.call();
        let session = self.inner.start(frequency_hz)?;
        Ok(Box::new(Watched::new(session, &self.witness)))
    }
}

impl Session for Watched<Box<dyn Session>> {
    fn check(&self) -> Result<(), Error> {
        self.call().check()
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        let witness = self.witness.clone();
        let samples = self.take().stop()?;
        Ok(Box::new(Watched::new(samples, &witness)))
    }
}

impl Samples for Watched<Box<dyn Samples>> {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        self.take().encode(span, profile)
    }
}
