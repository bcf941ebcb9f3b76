//! The recorder: a handle for the service, and a driver that does the work.

mod capture;
mod driver;
mod ground;
mod shared;

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::channel::oneshot;

pub use capture::SNAPSHOT_TIME_MAX;
pub use driver::Driver;
pub(crate) use shared::Shared;

use crate::task::Labelling;
use crate::{
    Clock, Error, ErrorKind, LabelChannel, Limits, Name, Offload, Policy, Sampler, SamplerInfo,
    SnapshotSource, State, Status, Store, Task, Window, clock,
};
use ground::Ground;

/// Everything a recorder is made of.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use tachograph_core::testing::{InlineOffload, ManualClock, MemoryStore, ScriptedSampler};
/// use tachograph_core::{Parts, Recorder, Window};
///
/// let wall = SystemTime::UNIX_EPOCH;
/// let clock = Arc::new(ManualClock::new(wall));
/// let window = Window::until(wall + Duration::from_secs(3600), wall).unwrap().unwrap();
/// let parts = Parts::new(
///     window,
///     clock.clone(),
///     Arc::new(InlineOffload),
///     Arc::new(ScriptedSampler::new()),
///     Box::new(MemoryStore::new()),
/// );
/// let (recorder, driver) = Recorder::new(parts).unwrap();
/// # let _ = (recorder, driver);
/// # }
/// ```
pub struct Parts {
    /// When to record.
    pub window: Window,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where blocking work goes.
    pub offload: Arc<dyn Offload>,
    /// What takes the samples.
    pub sampler: Arc<dyn Sampler>,
    /// Where captures are kept. It is closed when recording is over.
    pub store: Box<dyn Store>,
    /// Who knows something of the process. Where two know the same, the first
    /// is believed.
    pub snapshot_sources: Vec<Arc<dyn SnapshotSource>>,
    /// When to capture and how long.
    pub policy: Policy,
    /// How much may be kept.
    pub limits: Limits,
    /// The tasks whose start asks for a capture.
    pub triggers: Vec<Name>,
}

impl Parts {
    /// A recorder of these parts with the default policy and limits, no
    /// snapshot source and no trigger.
    pub fn new(
        window: Window,
        clock: Arc<dyn Clock>,
        offload: Arc<dyn Offload>,
        sampler: Arc<dyn Sampler>,
        store: Box<dyn Store>,
    ) -> Self {
        Self {
            window,
            clock,
            offload,
            sampler,
            store,
            snapshot_sources: Vec::new(),
            policy: Policy::default(),
            limits: Limits::default(),
            triggers: Vec::new(),
        }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("window", &self.window)
            .field("sampler", &self.sampler.info())
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .field("triggers", &self.triggers)
            .finish_non_exhaustive()
    }
}

/// Whether `policy` asks no more of a sampler than it can do.
///
/// # Errors
///
/// [`ErrorKind::Setting`] if the policy's frequency is above the sampler's
/// highest.
pub fn check_frequency(policy: &Policy, sampler: &SamplerInfo) -> Result<(), Error> {
    if policy.frequency_hz() <= sampler.frequency_hz_max {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Setting,
        format!(
            "frequency_hz is {}: the sampler {} is truthful up to {} Hz only",
            policy.frequency_hz(),
            sampler.name,
            sampler.frequency_hz_max
        ),
    ))
}

/// A handle on a recorder: what a service calls.
///
/// It is cheap to clone. When the last clone is dropped, recording stops in an
/// orderly way, without anybody waiting for it. Wrapped tasks do not keep it
/// alive. In a forked child it is inert.
#[derive(Clone, Debug)]
pub struct Recorder {
    handle: Option<Arc<Handle>>,
}

/// What all clones of a recorder share; its drop is the last one's.
struct Handle {
    shared: Arc<Shared>,
    ended: futures::future::Shared<oneshot::Receiver<()>>,
    channel: LabelChannel,
    triggers: HashSet<Name>,
    warned_of_bad_name: AtomicBool,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("triggers", &self.triggers)
            .finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.ask_stop();
    }
}

impl Recorder {
    /// A recorder that accepts every call and does nothing.
    ///
    /// ```
    /// use tachograph_core::{Recorder, State};
    ///
    /// let recorder = Recorder::inert();
    /// recorder.request("compaction").unwrap();
    /// assert_eq!(recorder.status().state, State::Off);
    /// ```
    pub const fn inert() -> Self {
        Self { handle: None }
    }

    /// Makes a recorder and the driver that does its work. Nothing happens
    /// until the driver is polled; whoever has an executor spawns it there. The
    /// window, the schedule and their clock start now.
    ///
    /// # Errors
    ///
    /// As [`check_frequency`].
    pub fn new(parts: Parts) -> Result<(Self, Driver), Error> {
        let sampler = parts.sampler.info();
        check_frequency(&parts.policy, &sampler)?;
        let shared = Arc::new(Shared::new(parts.clock.wall()));
        let (end_signal, ended) = oneshot::channel();
        let handle = Handle {
            shared: Arc::clone(&shared),
            ended: ended.shared(),
            channel: sampler.labels,
            triggers: parts.triggers.into_iter().collect(),
            warned_of_bad_name: AtomicBool::new(false),
        };
        let driver = driver::Loop {
            started: clock::read(&*parts.clock),
            ground: Ground::new(parts.store, parts.offload, Arc::clone(&shared), end_signal),
            shared,
            clock: parts.clock,
            sampler: parts.sampler,
            snapshot_sources: parts.snapshot_sources,
            policy: parts.policy,
            limits: parts.limits,
            window: parts.window,
        };
        let recorder = Self {
            handle: Some(Arc::new(handle)),
        };
        Ok((recorder, Driver::new(driver.run())))
    }

    /// Gives `future` the name of a task. While it is being polled, samples
    /// carry the label `task=<name>`; if the name is a trigger, the first poll
    /// asks for a capture.
    ///
    /// With a bad name (see [`Name`]) the future runs unlabelled, also inside of
    /// another task, and the recorder warns once. On an inert recorder this
    /// costs nothing.
    pub fn task<F: Future>(&self, name: &str, future: F) -> Task<F> {
        Task::new(self.labelling(name), future)
    }

    /// Runs `work`, which may block, on this thread as the task `name`: the
    /// counterpart of [`task`](Self::task) for what is not a future.
    ///
    /// ```
    /// # let recorder = tachograph_core::Recorder::inert();
    /// let sum: u64 = recorder.blocking_task("sum", || (0..1000).sum());
    /// assert_eq!(sum, 499_500);
    /// ```
    pub fn blocking_task<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        match self.labelling(name) {
            None => work(),
            Some(mut labelling) => labelling.run(work),
        }
    }

    fn labelling(&self, name: &str) -> Option<Labelling> {
        let handle = self.handle.as_ref()?;
        // In a forked child not even a name may be looked up: another thread of
        // the parent may have held that lock.
        if !handle.shared.is_recording() || !handle.shared.is_own_process() {
            return None;
        }
        let shared = Arc::clone(&handle.shared);
        let labelling = match Name::new(name) {
            Ok(name) => {
                let is_trigger = handle.triggers.contains(&name);
                Labelling::new(shared, name, handle.channel, is_trigger)
            }
            Err(error) => {
                if !handle.warned_of_bad_name.swap(true, Ordering::Relaxed) {
                    tracing::warn!(target: "tachograph", %error, "task runs unlabelled");
                }
                Labelling::without_label(shared, handle.channel)
            }
        };
        Some(labelling)
    }

    /// Asks for a capture with `reason` now. It never blocks and is never
    /// queued: inside the cooldown the request is dropped, and so it is if
    /// another one is waiting already ([`status`](Self::status) counts both).
    /// After the end it does nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if `reason` is not a [`Name`]. An inert recorder
    /// accepts any.
    pub fn request(&self, reason: &str) -> Result<(), Error> {
        if let Some(handle) = &self.handle
            && handle.shared.is_own_process()
        {
            let name = Name::new(reason).map_err(|error| error.of_setting("reason"))?;
            handle.shared.request(name);
        }
        Ok(())
    }

    /// What the recorder is doing and has done.
    pub fn status(&self) -> Status {
        match &self.handle {
            Some(handle) if handle.shared.is_own_process() => handle.shared.status(),
            _ => Status {
                state: State::Off,
                captures: 0,
                dropped: crate::Requests::default(),
            },
        }
    }

    /// Stops recording and returns when that is done: a capture in progress is
    /// cut short and kept, its files are in place, and the store is closed.
    /// Stopping again is harmless.
    ///
    /// Stopping begins with the call, not with the first poll. Should the
    /// driver never be polled, this never returns; if the driver was dropped,
    /// it does.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended = self
            .handle
            .as_ref()
            .filter(|handle| handle.shared.is_own_process())
            .map(|handle| {
                handle.shared.ask_stop();
                handle.ended.clone()
            });
        async move {
            if let Some(ended) = ended {
                // The sender is dropped, not used, when all is done.
                let _ = ended.await;
            }
        }
    }
}
