//! From settings and parts to a running recorder.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use serde_json::Value;
use tachograph_core::offload::Work;
use tachograph_core::{
    Application, Clock, Driver, Error, ErrorKind, Limits, Name, Offload, OptIn, Parts, Policy,
    Recorder, Runtime, SNAPSHOT_TIME_MAX, Sampler, Setting, SnapshotSource, Store, Window,
    check_frequency,
};

/// The environment variable that [`from_env`] takes the directory from.
pub const DIRECTORY_VARIABLE: &str = "TACHOGRAPH_DIR";

/// The environment variable that [`from_env`] takes the deadline from.
pub const UNTIL_VARIABLE: &str = "TACHOGRAPH_UNTIL";

/// A recorder that the environment opts in: with `TACHOGRAPH_DIR`, the path of
/// a private directory, and `TACHOGRAPH_UNTIL`, an RFC 3339 time within 72
/// hours. The environment is read by this call, and not recorded.
pub fn from_env() -> Builder {
    let setting = |name| Setting::new(name, std::env::var_os(name));
    Builder::new(setting(DIRECTORY_VARIABLE), setting(UNTIL_VARIABLE))
}

/// A recorder that code opts in, with [`Builder::directory`] and
/// [`Builder::until`]: for services with a configuration of their own.
///
/// ```
/// use tachograph::{ErrorKind, State};
///
/// # #[cfg(feature = "smol")] {
/// let error = tachograph::builder()
///     .directory("relative/path")
///     .until("2000-01-01")
///     .start(tachograph::smol())
///     .unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Setting);
/// assert!(error.to_string().contains("\"2000-01-01\""));
/// # }
/// ```
pub fn builder() -> Builder {
    Builder::new(Setting::unset("directory"), Setting::unset("until"))
}

/// What a recorder shall be made of. Everything has a default.
///
/// Whether a recorder is to record at all is decided first, by the operator's
/// two settings alone. On an ordinary day nothing else is looked at, and the
/// recorder is inert.
#[must_use = "nothing is recorded until `start`"]
pub struct Builder {
    directory: Setting,
    until: Setting,
    triggers: Vec<String>,
    policy: Policy,
    limits: Limits,
    clock: Option<Arc<dyn Clock>>,
    sampler: Option<Arc<dyn Sampler>>,
    store: Option<Box<dyn Store>>,
    snapshot_sources: Vec<MakeSource>,
}

/// Makes a snapshot source once it is known where blocking work goes.
type MakeSource = Box<dyn FnOnce(&Arc<dyn Offload>) -> Arc<dyn SnapshotSource>>;

impl Builder {
    fn new(directory: Setting, until: Setting) -> Self {
        Self {
            directory,
            until,
            triggers: Vec::new(),
            policy: Policy::default(),
            limits: Limits::default(),
            clock: None,
            sampler: None,
            store: None,
            snapshot_sources: Vec::new(),
        }
    }

    /// The private directory, in place of what the environment says. It must be
    /// an absolute path; an empty one is the same as none.
    pub fn directory(mut self, path: impl Into<OsString>) -> Self {
        self.directory = Setting::new(self.directory.name(), Some(path.into()));
        self
    }

    /// The deadline, in place of what the environment says: an RFC 3339 time
    /// within 72 hours. Empty text is the same as none.
    pub fn until(mut self, text: impl Into<OsString>) -> Self {
        self.until = Setting::new(self.until.name(), Some(text.into()));
        self
    }

    /// Lets the start of every task `name` ask for a capture with that reason.
    pub fn trigger(mut self, name: impl Into<String>) -> Self {
        self.triggers.push(name.into());
        self
    }

    /// Puts what `closure` returns into every sidecar as `Pool`, before and
    /// after the capture. It may block, but for no longer than 5 s. Should it
    /// panic or take longer, recording ends.
    ///
    /// Each call has a short-lived thread of its own, so that one that never
    /// returns holds up the recorder and the shutdown of the runtime for no
    /// longer than that, either.
    /// ([`build`](Self::build) calls it on the given offload.) Of several
    /// closures, the first wins.
    pub fn snapshot(mut self, closure: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        self.snapshot_sources.push(Box::new(move |offload| {
            Arc::new(Application::new(Arc::clone(offload), closure))
        }));
        self
    }

    /// Asks `source` around every capture. Where it knows the same as the
    /// runtime or the process, it is believed.
    pub fn snapshot_source(mut self, source: impl SnapshotSource + 'static) -> Self {
        self.snapshot_sources
            .push(Box::new(move |_| Arc::new(source)));
        self
    }

    /// When to capture and how long.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How much may be left on disk.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Another clock than the runtime's.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Another sampler than the best of the target.
    pub fn sampler(mut self, sampler: impl Sampler + 'static) -> Self {
        self.sampler = Some(Arc::new(sampler));
        self
    }

    /// Another store than the private directory, which is then not looked at;
    /// it still has to be set, since it is what opts in.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Some(Box::new(store));
        self
    }

    /// Starts recording on `runtime`, if the operator has opted in; otherwise
    /// the recorder is inert. This may block as long as it takes to open, judge
    /// and lock the directory, and no longer.
    ///
    /// # Errors
    ///
    /// In the order in which it is looked at, and without changing anything:
    /// - [`Setting`](ErrorKind::Setting): one of the two settings without the
    ///   other, a malformed deadline, one more than 72 h ahead;
    /// - [`Unsupported`](ErrorKind::Unsupported): neither Linux nor macOS, and
    ///   not all of the parts that need it were replaced;
    /// - [`NoRuntime`](ErrorKind::NoRuntime): `runtime` is not there;
    /// - [`Setting`](ErrorKind::Setting): a bad trigger name, or a frequency
    ///   above the sampler's;
    /// - [`Setting`](ErrorKind::Setting), [`Directory`](ErrorKind::Directory)
    ///   or [`InUse`](ErrorKind::InUse): the directory is not acceptable.
    ///
    /// A service that prefers to go on without profiles logs the error and
    /// takes [`Recorder::inert`].
    pub fn start(self, runtime: impl Runtime) -> Result<Recorder, Error> {
        let clock = self.clock.clone().unwrap_or_else(|| runtime.clock());
        let Some(opted_in) = self.judge(&*clock)? else {
            return Ok(Recorder::inert());
        };
        let connection = runtime.connect()?;
        let places = Places {
            of_application: Arc::new(Bounded(Arc::clone(&connection.offload))),
            of_recorder: connection.offload,
        };
        let (recorder, driver) =
            self.assemble(opted_in, clock, places, connection.snapshot_source)?;
        (connection.spawn)(driver);
        Ok(recorder)
    }

    /// The same for any other executor: returns the recorder and the future
    /// that does its work, to be spawned by the caller. Time comes from `clock`
    /// (unless [`clock`](Self::clock) gave another), blocking work goes to
    /// `offload`.
    ///
    /// The driver of an inert recorder is done at once.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), but for the runtime.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tachograph::testing::{InlineOffload, ManualClock, MemoryStore, ScriptedSampler};
    ///
    /// let now = std::time::SystemTime::UNIX_EPOCH;
    /// let (recorder, driver) = tachograph::builder()
    ///     .directory("/not/looked/at")
    ///     .until("1970-01-01T01:00:00Z")
    ///     .store(MemoryStore::new())
    ///     .sampler(ScriptedSampler::new())
    ///     .build(ManualClock::new(now), InlineOffload)?;
    /// # let _ = (recorder, driver);
    /// # Ok::<(), tachograph::Error>(())
    /// ```
    pub fn build(
        self,
        clock: impl Clock + 'static,
        offload: impl Offload + 'static,
    ) -> Result<(Recorder, Driver), Error> {
        let clock = self.clock.clone().unwrap_or_else(|| Arc::new(clock));
        match self.judge(&*clock)? {
            None => Ok((Recorder::inert(), Driver::inert())),
            Some(opted_in) => {
                let offload: Arc<dyn Offload> = Arc::new(offload);
                let places = Places {
                    of_recorder: Arc::clone(&offload),
                    of_application: offload,
                };
                self.assemble(opted_in, clock, places, None)
            }
        }
    }

    /// Checks what the code has chosen, whatever the operator has set: the names
    /// of triggers, and the policy against the sampler. On an ordinary day
    /// [`start`](Self::start) does not look at them; a test of the service can.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`], as [`start`](Self::start).
    ///
    /// ```
    /// # #[cfg(feature = "sampler")] {
    /// assert!(tachograph::from_env().trigger("compaction").check().is_ok());
    /// assert!(tachograph::from_env().trigger("periodic").check().is_err());
    /// # }
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        self.check_parts().map(drop)
    }

    fn check_parts(&self) -> Result<(Vec<Name>, Arc<dyn Sampler>), Error> {
        let triggers = self
            .triggers
            .iter()
            .map(|name| Name::new(name).map_err(|error| error.of_setting("trigger")))
            .collect::<Result<Vec<_>, _>>()?;
        let sampler = match &self.sampler {
            Some(sampler) => Arc::clone(sampler),
            None => default_sampler()?,
        };
        check_frequency(&self.policy, &sampler.info())?;
        Ok((triggers, sampler))
    }

    /// Whether to record. Says so if the deadline has passed.
    fn judge(&self, clock: &dyn Clock) -> Result<Option<OptedIn>, Error> {
        match OptIn::judge(&self.directory, &self.until, clock.wall())? {
            OptIn::Off => Ok(None),
            OptIn::Expired(until) => {
                tracing::info!(
                    target: "tachograph",
                    %until,
                    "the deadline has passed, so nothing is recorded"
                );
                Ok(None)
            }
            OptIn::On { directory, window } => {
                let is_supported = cfg!(any(target_os = "linux", target_os = "macos"));
                if !is_supported && (self.sampler.is_none() || self.store.is_none()) {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "recording works on Linux and macOS only: elsewhere bring a sampler and \
                         a store",
                    ));
                }
                Ok(Some(OptedIn { directory, window }))
            }
        }
    }

    fn assemble(
        self,
        opted_in: OptedIn,
        clock: Arc<dyn Clock>,
        places: Places,
        of_runtime: Option<Arc<dyn SnapshotSource>>,
    ) -> Result<(Recorder, Driver), Error> {
        let offload = places.of_recorder;
        let (triggers, sampler) = self.check_parts()?;
        let snapshot_sources = self
            .snapshot_sources
            .into_iter()
            .map(|make| make(&places.of_application))
            .chain(of_runtime)
            .chain(of_process(&offload))
            .collect();
        // Last, since it is the only step that leaves something behind.
        let store = match self.store {
            Some(store) => store,
            None => open_directory(&opted_in.directory).map_err(|error| {
                // The store itself says "directory".
                match self.directory.name() {
                    "directory" => error,
                    variable => error.of_setting(variable),
                }
            })?,
        };
        let mut parts = Parts::new(opted_in.window, clock, offload, sampler, store);
        parts.snapshot_sources = snapshot_sources;
        parts.policy = self.policy;
        parts.limits = self.limits;
        parts.triggers = triggers;
        Recorder::new(parts)
    }
}

/// Where blocking work goes.
struct Places {
    of_recorder: Arc<dyn Offload>,
    /// For closures of the application, which may never return.
    of_application: Arc<dyn Offload>,
}

/// Gives each piece of work a thread of its own, for which the runtime's place
/// for blocking work waits, but not for ever: tokio's cannot be shut down, nor
/// paused time advance, while work is under way there.
struct Bounded(Arc<dyn Offload>);

impl Offload for Bounded {
    fn spawn(&self, work: Work) {
        self.0.spawn(Box::new(move || {
            let (done, is_done) = mpsc::channel::<()>();
            let thread = thread::Builder::new().name("tachograph".into());
            let spawned = thread.spawn(move || {
                work();
                drop(done);
            });
            // Without a thread the work was dropped unrun, as it may be.
            if spawned.is_ok() {
                let _ = is_done.recv_timeout(SNAPSHOT_TIME_MAX);
            }
        }));
    }
}

/// That there is something to do.
struct OptedIn {
    directory: std::path::PathBuf,
    window: Window,
}

#[cfg(feature = "sampler")]
fn default_sampler() -> Result<Arc<dyn Sampler>, Error> {
    Ok(Arc::new(tachograph_sampler::BestSampler::new()))
}

#[cfg(not(feature = "sampler"))]
fn default_sampler() -> Result<Arc<dyn Sampler>, Error> {
    Err(Error::new(
        ErrorKind::Setting,
        "there is no sampler: enable the feature \"sampler\" or bring one with `sampler`",
    ))
}

#[cfg(feature = "storage-posix")]
fn open_directory(path: &Path) -> Result<Box<dyn Store>, Error> {
    Ok(Box::new(tachograph_storage_posix::PosixStore::open(path)?))
}

#[cfg(not(feature = "storage-posix"))]
fn open_directory(_path: &Path) -> Result<Box<dyn Store>, Error> {
    Err(Error::new(
        ErrorKind::Setting,
        "there is no store: enable the feature \"storage-posix\" or bring one with `store`",
    ))
}

#[cfg(feature = "process")]
fn of_process(offload: &Arc<dyn Offload>) -> Option<Arc<dyn SnapshotSource>> {
    let source = tachograph_process::ProcessSnapshot::new(Arc::clone(offload));
    Some(Arc::new(source))
}

#[cfg(not(feature = "process"))]
fn of_process(_offload: &Arc<dyn Offload>) -> Option<Arc<dyn SnapshotSource>> {
    None
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("directory", &self.directory)
            .field("until", &self.until)
            .field("triggers", &self.triggers)
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
