//! What takes the samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::{CappedWriter, Coverage, Error, ErrorKind};

/// Takes CPU samples of the whole process.
///
/// # Contract
///
/// All methods of a sampler, its session and its samples may block: the
/// recorder calls them through [`Offload`](crate::Offload) only. (So they are
/// plain functions; what is asynchronous about a sampler is the recorder's
/// waiting.)
///
/// An implementation promises that
/// - [`start`](Self::start) fails with [`ErrorKind::Busy`], and changes
///   nothing, while anybody else in this process is profiling; samplers that
///   use process-wide means hold a [`SamplingGuard`] for as long as they do;
/// - dropping a session, or unwinding through it, stops sampling, and leaves
///   no signal disposition behind that could kill the process, no thread and
///   no file;
/// - nothing blocks without bound.
pub trait Sampler: Send + Sync {
    /// What this sampler is and can do. Cheap.
    fn info(&self) -> SamplerInfo;

    /// Starts sampling at `frequency_hz`, samples per second of CPU time.
    ///
    /// The recorder promises a frequency between 1 and
    /// [`SamplerInfo::frequency_hz_max`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] as described above: the capture is skipped and the
    /// recorder lives on. Any other error ends recording.
    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error>;
}

impl<S: Sampler + ?Sized> Sampler for Arc<S> {
    fn info(&self) -> SamplerInfo {
        (**self).info()
    }

    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        (**self).start(frequency_hz)
    }
}

/// What a [`Sampler`] says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerInfo {
    /// Its name, as it stands in a sidecar.
    pub name: &'static str,
    /// Its version, as it stands in a sidecar.
    pub version: &'static str,
    /// The highest frequency it samples truthfully at.
    pub frequency_hz_max: u32,
    /// How it learns which task a sample belongs to.
    pub labels: LabelChannel,
}

/// How a sampler learns which task a sample belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelChannel {
    /// It reads the thread-local that every poll of a task sets
    /// ([`labels::current`](crate::labels::current)).
    ThreadLocal,
    /// It finds a marker frame in the stack
    /// ([`labels::Marker`](crate::labels::Marker)): every poll of a task runs
    /// through the marker function of its label.
    MarkerFrames,
}

/// A running sampler. Dropping it stops sampling and discards the samples.
pub trait Session: Send {
    /// Whether the session still keeps within its own bounds of memory and
    /// disk. The recorder asks about once a second.
    ///
    /// # Errors
    ///
    /// An error fails the capture.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Stops sampling. When this returns no further sample is taken; work that
    /// takes long (symbols, encoding) is left to [`Samples::encode`].
    ///
    /// # Errors
    ///
    /// An error fails the capture. Sampling is stopped all the same.
    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error>;
}

/// What a session sampled.
pub trait Samples: Send {
    /// Writes the samples as a gzip-compressed `profile.proto`
    /// (<https://github.com/google/pprof/blob/main/proto/profile.proto>) with
    /// the sample types `samples/count` and `cpu/nanoseconds`, and says how true
    /// they are.
    ///
    /// # Errors
    ///
    /// An error fails the capture; so does a profile that `profile` finds too
    /// large.
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error>;
}

/// When a capture sampled, by the recorder's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The capture's start, which is also in its name.
    pub started_at: SystemTime,
    /// For how long the sampler ran.
    pub duration: Duration,
}

/// What a sampler knows of its own truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// The sum of `samples/count` in the profile, unscaled.
    pub samples: u64,
    /// Samples known to be missing.
    pub lost: u64,
    /// The build id of the running executable in lower-case hexadecimal, if it
    /// has one.
    pub executable_build_id: Option<String>,
    /// What else the sampler can tell of what it saw and missed.
    pub coverage: Option<Coverage>,
}

/// The right to sample this process. There is one in the process, so that two
/// samplers, of whatever kind, exclude each other.
///
/// ```
/// use tachograph_core::{ErrorKind, SamplingGuard};
///
/// let guard = SamplingGuard::acquire()?;
/// assert_eq!(SamplingGuard::acquire().unwrap_err().kind(), ErrorKind::Busy);
/// drop(guard);
/// assert!(SamplingGuard::acquire().is_ok());
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SamplingGuard {
    process: u32,
}

/// The process that holds the right, 0 if none does. Not just whether: in a
/// child that was forked during a capture nobody samples.
static HOLDER: AtomicU32 = AtomicU32::new(0);

impl SamplingGuard {
    /// Takes the right, if it is free.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] if it is not.
    pub fn acquire() -> Result<Self, Error> {
        let process = std::process::id();
        let holder = HOLDER.load(Ordering::Relaxed);
        let is_free = holder != process
            && HOLDER
                .compare_exchange(holder, process, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if is_free {
            return Ok(Self { process });
        }
        Err(Error::new(
            ErrorKind::Busy,
            "another sampler of this process is running",
        ))
    }
}

impl Drop for SamplingGuard {
    fn drop(&mut self) {
        // A forked child's copy of a parent's guard gives nothing back that
        // the child has taken since.
        if self.process == std::process::id() {
            HOLDER.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_samples_at_a_time_and_the_next_after_it() {
        for _ in 0..2 {
            let guard = SamplingGuard::acquire().expect("free");
            let error = SamplingGuard::acquire().expect_err("held");
            assert_eq!(error.kind(), ErrorKind::Busy);
            drop(guard);
        }
    }
}
