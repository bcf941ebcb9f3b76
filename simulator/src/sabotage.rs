//! Deliberate breaks, one at least for every invariant: the proof that it
//! would be noticed.

use std::time::Duration;

use tachograph_core::store::{CaptureName, EntryKind, Recovery, StagedCapture, Store, Usage};
use tachograph_core::testing::MemoryDirectory;
use tachograph_core::{
    CappedWriter, Error, Policy, Sampler, SamplerInfo, Samples, Session, Span, Truth,
};

use crate::record::{Life, Refused};

/// One thing that is broken while a history is played: a part that does not
/// keep its contract, a recorder that got other settings than those it is
/// judged by, or a record that is not what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A sampler starts at the deadline.
    LateSampler,
    /// The recorder has a shorter cooldown.
    ShortCooldown,
    /// The store does not know when the newest capture was taken.
    ForgottenCapture,
    /// The store says that it is empty.
    HiddenUsage,
    /// The store leaves the unfinished profile of a capture that was given up.
    LeftPartial,
    /// The store does not empty what a crash left.
    FullLeftover,
    /// The store loses the sidecar of a capture.
    LostSidecar,
    /// The store removes somebody else's file.
    RemovedForeign,
    /// The store makes room by removing an old capture.
    Evicted,
    /// The end is told twice.
    ToldTwice,
    /// An orderly end is a warning.
    LoudEnd,
    /// Stopping never returns.
    HungStop,
    /// The directory stays locked.
    KeptLock,
    /// The status counts a refused request too few.
    UncountedRefusal,
    /// The status counts a capture too few.
    UncountedCapture,
    /// The sampler claims one sample more than it has.
    InventedSample,
    /// The recorder samples for longer.
    LongCapture,
    /// A second recorder is let into the directory.
    LetIn,
    /// A recorder starts after its window.
    StartedLate,
    /// The recorder's interval is longer by a second.
    SlowInterval,
    /// Requests carry another reason.
    SwappedReason,
}

impl Sabotage {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::LateSampler,
        Self::ShortCooldown,
        Self::ForgottenCapture,
        Self::HiddenUsage,
        Self::LeftPartial,
        Self::FullLeftover,
        Self::LostSidecar,
        Self::RemovedForeign,
        Self::Evicted,
        Self::ToldTwice,
        Self::LoudEnd,
        Self::HungStop,
        Self::KeptLock,
        Self::UncountedRefusal,
        Self::UncountedCapture,
        Self::InventedSample,
        Self::LongCapture,
        Self::LetIn,
        Self::StartedLate,
        Self::SlowInterval,
        Self::SwappedReason,
    ];

    /// The policy that the recorder gets in place of `policy`.
    pub(crate) fn policy(self, policy: Policy) -> Policy {
        let builder = Policy::builder()
            .capture_length(policy.capture_length())
            .cooldown(policy.cooldown())
            .interval(policy.interval());
        let changed = match self {
            Self::ShortCooldown => {
                builder.cooldown((policy.cooldown() / 2).max(policy.capture_length()))
            }
            Self::LongCapture => {
                let longer = policy.capture_length() + Duration::from_secs(60);
                builder.capture_length(longer.min(policy.cooldown()))
            }
            Self::SlowInterval => builder.interval(policy.interval() + Duration::from_secs(1)),
            _ => builder,
        };
        changed.build().unwrap_or(policy)
    }

    /// Falsifies what was seen of a life.
    pub(crate) fn falsify(self, life: &mut Life) {
        match self {
            Self::ToldTwice => {
                let again = life.end_lines.clone();
                life.end_lines.extend(again);
            }
            Self::LoudEnd => life.end_lines.iter_mut().for_each(|line| line.warns = true),
            Self::LateSampler => {
                let window_ms = life.start.until_ms - life.started.wall_ms;
                let deadline_ms = life.started.at_ms.saturating_add_signed(window_ms);
                for attempt in &mut life.seen.attempts {
                    if let Some(asked) = &mut attempt.sampler_asked {
                        asked.at_ms = deadline_ms;
                    }
                }
            }
            Self::UncountedRefusal => {
                if let Some(status) = &mut life.status {
                    let cooldown = &mut status.dropped.cooldown;
                    *cooldown = cooldown.saturating_sub(1);
                }
            }
            Self::UncountedCapture => {
                if let Some(status) = &mut life.status {
                    status.captures = status.captures.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// Falsifies a start that made no recorder.
    pub(crate) fn falsify_refused(self, refused: &mut Refused) {
        match self {
            Self::LetIn if refused.was_held => refused.error = None,
            Self::StartedLate if !refused.was_held && refused.error.is_none() => {
                refused.until_ms = refused.started.wall_ms + 1;
            }
            _ => {}
        }
    }
}

/// A store that breaks one clause of its contract.
pub(crate) struct SabotagedStore<S> {
    pub(crate) inner: S,
    pub(crate) directory: MemoryDirectory,
    pub(crate) sabotage: Sabotage,
}

impl<S: Store> Store for SabotagedStore<S> {
    fn recover(&self) -> Result<Recovery, Error> {
        let mut recovery = self.inner.recover()?;
        match self.sabotage {
            Sabotage::ForgottenCapture => recovery.newest = None,
            Sabotage::FullLeftover => {
                for name in &recovery.interrupted {
                    self.directory.put(name, b"what was sampled");
                }
            }
            Sabotage::RemovedForeign => {
                let names = self.directory.names().into_iter();
                let mut foreign = names.filter(|name| CaptureName::parse(name).is_none());
                if let Some(name) = foreign.next_back() {
                    self.directory.remove(&name);
                }
            }
            _ => {}
        }
        Ok(recovery)
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        let usage = self.inner.usage(entries_enough)?;
        match self.sabotage {
            Sabotage::HiddenUsage => Ok(Usage::default()),
            _ => Ok(usage),
        }
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        Ok(Box::new(SabotagedStaged {
            inner: Some(self.inner.stage(name)?),
            directory: self.directory.clone(),
            sabotage: self.sabotage,
            name,
        }))
    }

    fn close(&self) {
        if self.sabotage != Sabotage::KeptLock {
            self.inner.close();
        }
    }
}

struct SabotagedStaged {
    inner: Option<Box<dyn StagedCapture>>,
    directory: MemoryDirectory,
    sabotage: Sabotage,
    name: CaptureName,
}

impl StagedCapture for SabotagedStaged {
    fn publish(mut self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        if let Some(inner) = self.inner.take() {
            inner.publish(sidecar, profile)?;
        }
        match self.sabotage {
            Sabotage::LostSidecar => self.directory.remove(&self.name.sidecar()),
            Sabotage::Evicted => {
                let captures = self.directory.names().into_iter();
                let oldest = captures
                    .filter_map(|name| CaptureName::parse(&name))
                    .find(|(name, kind)| *kind == EntryKind::Profile && *name != self.name);
                if let Some((oldest, _)) = oldest {
                    self.directory.remove(&oldest.profile());
                    self.directory.remove(&oldest.sidecar());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Drop for SabotagedStaged {
    fn drop(&mut self) {
        let given_up = self.inner.take().is_some();
        // A process that has died puts nothing anywhere.
        if given_up && self.sabotage == Sabotage::LeftPartial && self.directory.is_held() {
            self.directory
                .put(&self.name.entry(EntryKind::PartialProfile), b"");
        }
    }
}

/// A sampler whose samples claim to be more than they are.
pub(crate) struct InventingSampler<S>(pub(crate) S);

impl<S: Sampler> Sampler for InventingSampler<S> {
    fn info(&self) -> SamplerInfo {
        self.0.info()
    }

    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(InventingSession(self.0.start(frequency_hz)?)))
    }
}

struct InventingSession(Box<dyn Session>);

impl Session for InventingSession {
    fn check(&self) -> Result<(), Error> {
        self.0.check()
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        Ok(Box::new(InventingSamples(self.0.stop()?)))
    }
}

struct InventingSamples(Box<dyn Samples>);

impl Samples for InventingSamples {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        let mut truth = self.0.encode(span, profile)?;
        truth.samples += 1;
        Ok(truth)
    }
}
