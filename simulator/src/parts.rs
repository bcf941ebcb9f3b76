//! The parts of a simulated recorder: the doubles of the core, and probes
//! around them that note what goes through.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tachograph_core::store::{CaptureName, Recovery, StagedCapture, Store, Usage};
use tachograph_core::testing::{ManualClock, MemoryDirectory};
use tachograph_core::{
    Clock, Error, Instant, Sampler, SamplerInfo, Samples, Session, Snapshot, SnapshotSource,
    async_trait,
};

use crate::record::{Attempt, Moment, Published, Seen};

/// The wall time at which every history begins.
pub(crate) fn first_wall() -> SystemTime {
    // 2026-11-30T00:00:00Z.
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800)
}

/// The wall time that is `ms` after the beginning.
pub(crate) fn wall(ms: i64) -> SystemTime {
    let distance = Duration::from_millis(ms.unsigned_abs());
    if ms < 0 {
        first_wall() - distance
    } else {
        first_wall() + distance
    }
}

/// How far `wall` is from the beginning.
pub(crate) fn wall_ms(wall: SystemTime) -> i64 {
    match wall.duration_since(first_wall()) {
        Ok(after) => after.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

/// The monotonic time of `clock`.
pub(crate) fn millis(clock: &ManualClock) -> u64 {
    clock.now().since_origin().as_millis() as u64
}

/// Both times of `clock`.
pub(crate) fn moment(clock: &ManualClock) -> Moment {
    Moment {
        at_ms: millis(clock),
        wall_ms: wall_ms(clock.wall()),
    }
}

/// Where the probes of one recorder write.
#[derive(Clone)]
pub(crate) struct Notes {
    clock: ManualClock,
    seen: Arc<Mutex<Seen>>,
}

impl Notes {
    pub(crate) fn new(clock: ManualClock) -> Self {
        Self {
            clock,
            seen: Arc::default(),
        }
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes something about the latest attempt.
    fn note(&self, note: impl FnOnce(&mut Attempt, Moment)) {
        let now = moment(&self.clock);
        self.with(|seen| {
            if let Some(attempt) = seen.attempts.last_mut() {
                note(attempt, now);
            }
        });
    }
}

/// The clock as the recorder has it: one that is asked without end while it
/// stands still fails the history instead of hanging it.
pub(crate) struct ProbedClock {
    inner: ManualClock,
    asked_at_ms: AtomicU64,
    asked: AtomicU64,
}

/// More than any recorder asks at one moment.
const ASKED_MAX: u64 = 100_000;

impl ProbedClock {
    pub(crate) fn new(inner: ManualClock) -> Self {
        Self {
            inner,
            asked_at_ms: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        }
    }
}

#[async_trait]
impl Clock for ProbedClock {
    fn now(&self) -> Instant {
        let now_ms = millis(&self.inner);
        if self.asked_at_ms.swap(now_ms, Ordering::Relaxed) != now_ms {
            self.asked.store(0, Ordering::Relaxed);
        }
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(asked < ASKED_MAX, "the recorder spins at {now_ms}");
        self.inner.now()
    }

    fn wall(&self) -> SystemTime {
        self.inner.wall()
    }

    async fn sleep_until(&self, instant: Instant) {
        self.inner.sleep_until(instant).await;
    }
}

/// Notes what is asked of a store.
pub(crate) struct ProbedStore {
    pub(crate) inner: Box<dyn Store>,
    pub(crate) directory: MemoryDirectory,
    pub(crate) notes: Notes,
}

impl Store for ProbedStore {
    fn recover(&self) -> Result<Recovery, Error> {
        let names = self.directory.names().into_iter();
        let found = names.filter(|name| self.directory.read(name).is_some());
        self.notes.with(|seen| seen.found = Some(found.collect()));
        self.inner.recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        let usage = self.directory.usage();
        let attempt = Attempt {
            looked: moment(&self.notes.clock),
            entries: usage.entries,
            bytes: usage.bytes,
            bytes_free: usage.bytes_free,
            reason: None,
            staged: None,
            sampler_asked: None,
            sampling_since: None,
            sampling_until: None,
            saved: None,
            collected: false,
            skipped: false,
        };
        self.notes.with(|seen| seen.attempts.push(attempt));
        self.inner.usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        self.notes
            .note(|attempt, now| attempt.staged = Some((name, now)));
        Ok(Box::new(ProbedStaged {
            inner: self.inner.stage(name)?,
            directory: self.directory.clone(),
            notes: self.notes.clone(),
            name,
        }))
    }

    fn close(&self) {
        self.inner.close();
    }
}

struct ProbedStaged {
    inner: Box<dyn StagedCapture>,
    directory: MemoryDirectory,
    notes: Notes,
    name: CaptureName,
}

impl StagedCapture for ProbedStaged {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        self.inner.publish(sidecar, profile)?;
        let after = self.directory.usage();
        let published = Published {
            name: self.name,
            sidecar: sidecar.to_vec(),
            profile: profile.to_vec(),
            entries_after: after.entries,
            bytes_after: after.bytes,
        };
        self.notes
            .note(|attempt, now| attempt.saved = Some((now, Arc::new(published))));
        Ok(())
    }
}

/// Notes what is asked of a sampler.
pub(crate) struct ProbedSampler<S> {
    pub(crate) inner: S,
    pub(crate) notes: Notes,
}

impl<S: Sampler> Sampler for ProbedSampler<S> {
    fn info(&self) -> SamplerInfo {
        self.inner.info()
    }

    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        self.notes
            .note(|attempt, now| attempt.sampler_asked = Some(now));
        let inner = self.inner.start(frequency_hz)?;
        self.notes
            .note(|attempt, now| attempt.sampling_since = Some(now));
        Ok(Box::new(ProbedSession {
            inner: Some(inner),
            notes: self.notes.clone(),
        }))
    }
}

struct ProbedSession {
    inner: Option<Box<dyn Session>>,
    notes: Notes,
}

impl Session for ProbedSession {
    fn check(&self) -> Result<(), Error> {
        match &self.inner {
            Some(inner) => inner.check(),
            None => Ok(()),
        }
    }

    fn stop(mut self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        self.notes
            .note(|attempt, now| attempt.sampling_until = Some(now));
        match self.inner.take() {
            Some(inner) => inner.stop(),
            None => unreachable!("a session is stopped once"),
        }
    }
}

impl Drop for ProbedSession {
    fn drop(&mut self) {
        if self.inner.take().is_some() {
            self.notes
                .note(|attempt, now| attempt.sampling_until = Some(now));
        }
    }
}

/// A snapshot source that takes its time.
pub(crate) struct SlowSnapshot {
    pub(crate) clock: ManualClock,
    pub(crate) takes: Duration,
}

#[async_trait]
impl SnapshotSource for SlowSnapshot {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let done = self.clock.now().saturating_add(self.takes);
        self.clock.sleep_until(done).await;
        Ok(Snapshot::default())
    }
}
