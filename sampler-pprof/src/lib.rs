//! The portable sampler of Tachograph, on the [`pprof`] crate (Linux, macOS).
//!
//! It uses that crate in the one configuration that a service survives: its
//! `framehop` unwinder, initialised before sampling begins, at 100 Hz or less.
//! Names are looked up after sampling has ended, from symbol tables (or from
//! DWARF, if asked for), and the profile is encoded by `tachograph-profile`,
//! with addresses, mappings and build ids.
//!
//! # What it cannot do
//!
//! These are limits of the crate below, which this one can only state:
//!
//! - It has one interval timer for the whole process and no more than one
//!   signal pending: with more than two busy threads samples go missing (a
//!   seventh at four threads), and so they do where threads wait for a
//!   processor (a loaded machine, a container's quota); two equally busy
//!   threads may come out as 3 to 2. `cpu/nanoseconds` is therefore scaled to the CPU time that the
//!   process measurably used; `samples/count` is not, and what is missing by
//!   that measure stands in the sidecar as `Lost`.
//! - Samples of the same functions are merged: of two addresses in one function
//!   only the first seen is kept. Functions are right, lines inside a function
//!   are not.
//! - Stacks deeper than 128 frames are cut at the root's side. If the poll of
//!   the task lies beyond the cut, the sample is labelled
//!   `task=(unknown: stack cut)`.
//! - Modules loaded after the first capture of a process cannot be unwound
//!   through.
//! - On aarch64 Linux the crate (0.15.0, read in its source, not measured here)
//!   begins unwinding at the link register, so that a leaf function's own
//!   samples are its caller's.
//! - A handler runs on the stack of the thread it interrupts, and uses about
//!   20 KiB of it. **A thread that is sampled with less than 64 KiB of its stack
//!   left may die of a stack overflow**, and so may one on a smaller alternate signal
//!   stack. `examples/stack_almost_used_up.rs` shows it.
//! - Its buffers stay: about 55 to 70 MiB of resident memory once a process has
//!   taken its first capture, also between captures.
//! - It validates frames by writing into a pipe of its own. A program that
//!   closes descriptors it does not own may later see 16 bytes of its stack
//!   written into a file of its own that got the same number.
//! - Stacks that do not fit its table are spilled into a file in the temporary
//!   directory (mode 0600, named `.tmp` and six letters), which exists while a
//!   capture runs. It is removed after every capture; if the process dies
//!   during one, it stays. A spill of more than 8 MiB fails the capture, and so
//!   does a temporary directory that cannot be written to, or an `RLIMIT_FSIZE` under
//!   16 MiB: a write past that, from the crate's signal handler, would end the process.
//! - It has `SIGPROF` for itself. While somebody else handles the signal, or has
//!   armed its interval timer, [`start`](Sampler::start) is refused as busy, and they
//!   go on undisturbed. A handler that the service installs during a capture loses
//!   the samples, and is put back after it. After the first capture `SIGPROF` is
//!   ignored, instead of having its default action, in this process and in children it
//!   starts.
//! - **A process that *replaces itself* by `exec` while a capture runs takes the armed
//!   timer along, and its new program is killed by it** unless it handles the signal.
//!   `examples/exec_while_sampling.rs` shows it. Children started in the ordinary way
//!   do not inherit the timer. A forked child must not touch the sampler.
//! - System calls that its signal interrupts are restarted (`SA_RESTART`) where the
//!   system can: `accept`, `read` and the like do not notice, `nanosleep`, `poll`
//!   and the others that `signal(7)` lists may fail with `EINTR`.
//! - The crate tells the `log` facade at level info when it starts and stops,
//!   twice a capture.
//!
//! Prefer `tachograph-sampler-linux` where it exists.
//!
//! ```no_run
//! use tachograph_core::Sampler;
//! use tachograph_sampler_pprof::PprofSampler;
//!
//! let session = PprofSampler::new().start(100)?;
//! // ... let the process work ...
//! let samples = session.stop()?;
//! # let _ = samples;
//! # Ok::<(), tachograph_core::Error>(())
//! ```

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod encode;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod markers;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod profiler;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod session;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod signal;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod spill;

use tachograph_core::{Error, LabelChannel, Sampler, SamplerInfo, Session};
pub use tachograph_profile::Names;

/// Samples the whole process with the [`pprof`] crate.
///
/// See the [crate] for its limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct PprofSampler {
    names: Names,
}

impl PprofSampler {
    /// The highest frequency at which this sampler is truthful.
    pub const FREQUENCY_HZ_MAX: u32 = 100;

    /// A sampler that takes function names from symbol tables.
    pub const fn new() -> Self {
        Self {
            names: Names::SymbolTable,
        }
    }

    /// The same sampler with function names from elsewhere.
    ///
    /// ```
    /// use tachograph_sampler_pprof::{Names, PprofSampler};
    ///
    /// let sampler = PprofSampler::new().names(Names::Debug);
    /// # let _ = sampler;
    /// ```
    #[must_use]
    pub const fn names(self, names: Names) -> Self {
        Self { names }
    }
}

impl Sampler for PprofSampler {
    fn info(&self) -> SamplerInfo {
        SamplerInfo {
            name: "pprof",
            version: env!("CARGO_PKG_VERSION"),
            frequency_hz_max: Self::FREQUENCY_HZ_MAX,
            labels: LabelChannel::MarkerFrames,
        }
    }

    /// # Errors
    ///
    /// [`Busy`](tachograph_core::ErrorKind::Busy) if another sampler runs, or if somebody else
    /// handles `SIGPROF` or has armed its timer;
    /// [`Unsupported`](tachograph_core::ErrorKind::Unsupported) on other
    /// platforms than Linux and macOS; otherwise
    /// [`Sampling`](tachograph_core::ErrorKind::Sampling).
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::PprofSession::start(
            frequency_hz,
            self.names,
        )?))
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn start(&self, _frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        let _ = self.names;
        Err(Error::new(
            tachograph_core::ErrorKind::Unsupported,
            "the pprof sampler works on Linux and macOS only",
        ))
    }
}
