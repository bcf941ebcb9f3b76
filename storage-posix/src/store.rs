//! The store itself.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_core::store::{CaptureName, Recovery, RecoveryPlan, StagedCapture, Usage};
use tachograph_core::{Error, Store};

use crate::directory::PrivateDir;
use crate::staged::StagedFile;
use crate::sys;

/// A [`Store`] in a private directory.
///
/// # The directory
///
/// It belongs to the effective user of the process and has no permission for
/// group or others. Its path is looked at once, in [`open`](Self::open).
///
/// Files have mode 0600 whatever the umask, are created under their
/// `.partial` name, synced, and renamed without ever replacing anything. A
/// capture is published sidecar first, and the directory is synced after each
/// of the two renames. File systems that cannot sync a directory fail the
/// first capture.
///
/// A capture that fails is taken back profile first. Its sidecar is left to the
/// next [`recover`](Store::recover) if it is not certain that the profile is
/// gone: a profile never stands there unexplained, after a power loss either.
///
/// Interrupted captures that [`recover`](Store::recover) reported are removed
/// after the next complete one. That is no part of the capture: should it
/// fail, the capture stands, and removal is tried again after the one that
/// follows.
///
/// # The lock
///
/// An exclusive advisory lock (`flock`) on the directory itself keeps a second
/// store out, in this process and in others. It ends with [`close`](Store::close),
/// or with the drop of the store and of every capture staged in it, or with the
/// process, however that ends.
///
/// The lock belongs to the open file, not to the process:
/// - A child that was started with `exec`, as `std::process::Command` does,
///   has no part in it: all descriptors are close-on-exec.
/// - A child *forked without exec* shares it. If the parent closes or drops the
///   store, the lock is gone for both, at once. If the parent dies without
///   doing so, the child keeps the directory locked as long as it lives.
/// - In such a child, a copy of the store is inert: its methods fail, and
///   dropping it neither unlocks nor removes anything. A child that drops its
///   copy, or ends, does not unlock the parent's.
///
/// # Example
///
/// ```
/// use std::time::SystemTime;
/// use tachograph_core::Store;
/// use tachograph_core::store::CaptureName;
/// use tachograph_storage_posix::PosixStore;
///
/// let temporary = tempfile::tempdir()?;
/// let path = temporary.path().join("profiles");
///
/// let store = PosixStore::open(&path)?;
/// assert!(store.recover()?.interrupted.is_empty());
///
/// let name = CaptureName::new(SystemTime::now());
/// let staged = store.stage(name)?;
/// staged.publish(b"{}", b"profile")?;
/// assert_eq!(store.usage(512)?.entries, 2);
/// assert_eq!(std::fs::read(path.join(name.profile()))?, b"profile");
/// store.close();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PosixStore {
    inner: Arc<Inner>,
}

/// What the store and its staged captures share. The lock is released when the
/// last of them is gone.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) dir: PrivateDir,
    interrupted: Mutex<Vec<String>>,
}

impl PosixStore {
    /// Opens the private directory at `path`, makes it if it is missing, and
    /// locks it.
    ///
    /// Trailing `/` and `/.` are stripped from `path`. Symlinks above the
    /// directory are followed. Missing directories are made with mode 0700
    /// whatever the umask, each synced into its parent, which therefore must be
    /// readable; should not all of them come about, they are removed again.
    /// Nothing that exists is changed.
    ///
    /// # Errors
    ///
    /// Each names the setting `directory`, quotes the path and says what would
    /// be right.
    /// - [`ErrorKind::Setting`](tachograph_core::ErrorKind::Setting): the path
    ///   is not absolute, ends in `..`, or has a NUL byte in it.
    /// - [`ErrorKind::Directory`](tachograph_core::ErrorKind::Directory): it is
    ///   a symlink or no directory, belongs to another user, has a permission
    ///   for group or others, or cannot be reached, created or locked. `flock`
    ///   on a directory fails on some network file systems.
    /// - [`ErrorKind::InUse`](tachograph_core::ErrorKind::InUse): another store
    ///   holds it.
    ///
    /// ```
    /// use std::path::Path;
    /// use tachograph_core::ErrorKind;
    /// use tachograph_storage_posix::PosixStore;
    ///
    /// let error = PosixStore::open(Path::new("profiles")).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Setting);
    /// assert!(error.to_string().starts_with("directory \"profiles\" is not absolute"));
    ///
    /// let temporary = tempfile::tempdir()?;
    /// let path = temporary.path().join("profiles");
    /// let store = PosixStore::open(&path)?;
    /// let error = PosixStore::open(&path).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InUse);
    /// drop(store);
    /// PosixStore::open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner {
                dir: PrivateDir::open(path)?,
                interrupted: Mutex::default(),
            }),
        })
    }
}

impl Store for PosixStore {
    fn recover(&self) -> Result<Recovery, Error> {
        let dir = &self.inner.dir;
        dir.lock().ensure_held()?;
        let plan = self.inner.plan_recovery()?;
        for name in &plan.remove {
            dir.remove_regular(name)?;
        }
        for name in &plan.recovery.interrupted {
            dir.empty(name)?;
        }
        if !plan.remove.is_empty() || !plan.recovery.interrupted.is_empty() {
            dir.sync()?;
        }
        self.inner
            .interrupted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&plan.recovery.interrupted);
        Ok(plan.recovery)
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        let dir = &self.inner.dir;
        dir.lock().ensure_held()?;
        let mut usage = Usage::default();
        for name in dir.names()? {
            let name = name?;
            usage.entries += 1;
            if usage.entries > entries_enough {
                break;
            }
            if let Some(stat) = dir.stat(&name)?
                && sys::is_regular(&stat)
            {
                let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                usage.bytes = usage.bytes.saturating_add(bytes);
            }
        }
        usage.bytes_free = dir.bytes_free()?;
        Ok(usage)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        self.inner.dir.lock().ensure_held()?;
        Ok(Box::new(StagedFile::create(&self.inner, name)?))
    }

    fn close(&self) {
        self.inner.dir.lock().release();
    }
}

impl Inner {
    /// Judges the regular files that stand in the directory. Names go by one
    /// at a time, so that foreign ones take no memory.
    fn plan_recovery(&self) -> Result<RecoveryPlan, Error> {
        let mut failure = None;
        let names = self
            .dir
            .names()?
            .map(|name| {
                let Ok(name) = name?.into_string() else {
                    return Ok(None);
                };
                if CaptureName::parse(&name).is_none() {
                    return Ok(None);
                }
                let stat = self.dir.stat(name.as_ref())?;
                Ok(stat.filter(sys::is_regular).map(|_| name))
            })
            .map_while(|name: Result<_, Error>| name.map_err(|error| failure = Some(error)).ok())
            .flatten();
        let plan = RecoveryPlan::new(names);
        match failure {
            Some(error) => Err(error),
            None => Ok(plan),
        }
    }

    /// Removes what [`Store::recover`] reported as interrupted. What cannot be
    /// removed is tried again next time.
    pub(crate) fn remove_interrupted(&self) {
        let mut interrupted = self
            .interrupted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if interrupted.is_empty() {
            return;
        }
        interrupted.retain(|name| self.dir.remove_regular(name).is_err());
        // The capture stands, and a leftover that comes back after a power
        // loss is put away again.
        let _ = self.dir.sync();
    }
}
