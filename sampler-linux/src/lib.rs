//! The exact sampler of Tachograph for Linux (x86_64 and aarch64).
//!
//! # How it samples
//!
//! - Each thread has a timer on its own CPU clock, made for it by the sampler
//!   while a capture runs. A timer that the kernel looks at late says how often
//!   it expired meanwhile, and the sample weighs as much: the samples of a
//!   thread are its CPU time times the frequency, however many threads there
//!   are. Threads younger than 50 ms are sampled by one timer on the CPU clock
//!   of the process instead, which needs Linux 6.4.
//! - The signal handler notes the registers, the label and the thread's name,
//!   and copies up to 32 KiB of the stack into a ring of fixed size. It takes no
//!   lock, allocates nothing and runs on the thread's alternate stack.
//! - A thread named `tachograph`, which lives as long as the capture, walks the
//!   copied stacks with unwind tables: no frame pointers are needed. It is
//!   sampled like all others.
//! - A task's label is the thread's own, read in the handler.
//! - When the capture ends, samples that are due by a thread's CPU clock, but
//!   that the kernel has not come to signal, are counted with the thread's latest
//!   stack, up to 50 ms of CPU time; a thread that was never met has an empty
//!   one, `[no stack]`.
//!
//! Perf events come second, where the system refuses timers (see below). They
//! tell finer times than the kernel's tick, but take a descriptor for each
//! thread, leave out CPU time in the kernel and threads that live for moments,
//! and cost something at every context switch: on the virtual machine where both
//! were measured, 3 to 14 µs more than the 4.5 µs of a switch with timers or
//! without.
//!
//! `cpu/nanoseconds` is one period for each sample and never scaled. What is
//! missing shows in the sidecar as `Lost`, and by cause in the comments of the
//! profile.
//!
//! # What it cannot do
//!
//! - It uses `SIGPROF`. Its handler stays installed after the first capture,
//!   without effect; a handler that was there before gets every signal that is
//!   not the sampler's. Whoever replaces the handler during a capture takes its samples
//!   too: the profile then says so. Resetting `SIGPROF` to its default action
//!   during a capture may end the process.
//! - Threads that block `SIGPROF` are not sampled while they do. They are
//!   counted, and their CPU time is missing from the profile.
//! - A signal interrupts system calls. They are restarted (`SA_RESTART`) where
//!   Linux can: `epoll_wait`, `nanosleep` and a few more fail with `EINTR`
//!   instead, but only if the thread used CPU time up to its sample and then
//!   went to sleep.
//! - CPU time in the kernel counts where the thread comes back from it; there
//!   are no frames of the kernel.
//! - Timers are looked at when the kernel's tick comes: at 1000 Hz on a kernel
//!   of 250 Hz there are 250 different stacks a second, each with a weight of
//!   4. Of a thread that ends, what it did after the last tick is lost.
//! - A stack of more than 32 KiB (see [`LinuxSampler::stack_bytes`]) is cut at its
//!   root's side. Stacks through code without unwind tables and without frame
//!   pointers, such as generated code, break off there.
//! - Between two samples up to 50 ms apart a library may be loaded, used and
//!   unloaded without being seen; its frames are then unknown.
//! - An alternate signal stack must have room for what the kernel puts there and
//!   1 KiB. The 8 KiB that Rust gives its threads are enough, also with AVX-512
//!   and without optimisation.
//! - With perf events, an exec in the very microsecond in which a sample is due
//!   can end the new program: the kernel deletes signals of timers there, but not
//!   those.
//! - A file system without `/proc` is an error at start.
//! - Samples beyond 65,536 combinations of stack, task and thread, or beyond
//!   131,072 calls, are lost, and counted.
//!
//! # When the system refuses something
//!
//! | refused | then | visible as |
//! |---|---|---|
//! | `process_vm_readv` | stacks are copied only once they are known to be a thread's own: the first samples of a thread, and coroutines, have their leaf alone | `WithoutStack` |
//! | timers for some threads (`RLIMIT_SIGPENDING`) | they fall to the process's timer | `ThreadsRefused`, `ByProcessTimer` |
//! | all timers (`timer_create`) | each thread gets a perf event on the software CPU clock; CPU time in the kernel, and of threads in their first 50 ms, is missing | `TimeSource` is `perf-events`, `Lost`, `HasProcessTimer` |
//! | perf events for some threads (`RLIMIT_NOFILE`, of which they leave a quarter) | these are not sampled | `ThreadsRefused`, `Lost` |
//! | `perf_event_open`, but not `timer_create` | nothing changes | |
//! | both | [`start`](Sampler::start) fails and names both | the recorder ends with a warning |
//!
//! The names are those of the sidecar and of its `Coverage`. A container's
//! default seccomp filter commonly allows timers and refuses perf events.
//!
//! # Memory
//!
//! During a capture 4.5 MiB for the ring on up to four CPUs, of which only what
//! the busiest moment needed is resident; copies of the unwind tables of shared
//! libraries, a twentieth of their size; and up to 8 MiB of counted stacks,
//! commonly one. Between captures a few pages.
//!
//! ```no_run
//! use tachograph_core::Sampler;
//! use tachograph_sampler_linux::LinuxSampler;
//!
//! let session = LinuxSampler::new().start(100)?;
//! // ... let the process work ...
//! let samples = session.stop()?;
//! # let _ = samples;
//! # Ok::<(), tachograph_core::Error>(())
//! ```

#![cfg_attr(
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    forbid(unsafe_code)
)]

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod sampling;

use tachograph_core::{Error, LabelChannel, Sampler, SamplerInfo, Session};
pub use tachograph_profile::Names;

/// Samples every thread of the process by its own CPU clock.
///
/// See the [crate] for how, and for its limits.
#[derive(Clone, Copy, Debug)]
pub struct LinuxSampler {
    names: Names,
    stack_bytes: usize,
}

impl LinuxSampler {
    /// The highest frequency at which this sampler is truthful.
    pub const FREQUENCY_HZ_MAX: u32 = 1000;

    /// How much of each stack is copied, if nothing else is asked for.
    pub const STACK_BYTES: usize = 32 << 10;

    /// The least and the most of a stack that can be copied.
    pub const STACK_BYTES_BOUNDS: (usize, usize) = (4 << 10, 64 << 10);

    /// A sampler that takes function names from symbol tables.
    ///
    /// From here on each thread that has a label for the first time remembers
    /// where it is, so this comes best before the first task.
    pub fn new() -> Self {
        #[cfg(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ))]
        sampling::observe_labels();
        Self {
            names: Names::SymbolTable,
            stack_bytes: Self::STACK_BYTES,
        }
    }

    /// The same sampler with function names from elsewhere.
    ///
    /// ```
    /// use tachograph_sampler_linux::{LinuxSampler, Names};
    ///
    /// let sampler = LinuxSampler::new().names(Names::Debug);
    /// # let _ = sampler;
    /// ```
    #[must_use]
    pub const fn names(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// The same sampler with another limit to the part of a stack that is
    /// copied, from the leaf. A value out of
    /// [bounds](Self::STACK_BYTES_BOUNDS) becomes the nearest bound.
    ///
    /// ```
    /// use tachograph_sampler_linux::LinuxSampler;
    ///
    /// let deep = LinuxSampler::new().stack_bytes(64 << 10);
    /// # let _ = deep;
    /// ```
    #[must_use]
    pub fn stack_bytes(self, stack_bytes: usize) -> Self {
        let (least, most) = Self::STACK_BYTES_BOUNDS;
        Self {
            stack_bytes: stack_bytes.clamp(least, most),
            ..self
        }
    }
}

impl Default for LinuxSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl Sampler for LinuxSampler {
    fn info(&self) -> SamplerInfo {
        SamplerInfo {
            name: "linux",
            version: env!("CARGO_PKG_VERSION"),
            frequency_hz_max: Self::FREQUENCY_HZ_MAX,
            labels: LabelChannel::ThreadLocal,
        }
    }

    /// # Errors
    ///
    /// [`Busy`](tachograph_core::ErrorKind::Busy) if another sampler runs, or
    /// if somebody else has taken over `SIGPROF` since an earlier capture and
    /// does not pass signals on;
    /// [`Unsupported`](tachograph_core::ErrorKind::Unsupported) on other
    /// platforms than Linux on x86_64 and aarch64; otherwise
    /// [`Sampling`](tachograph_core::ErrorKind::Sampling).
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    fn start(&self, frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(sampling::LinuxSession::start(
            frequency_hz,
            self.names,
            self.stack_bytes,
        )?))
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    fn start(&self, _frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        let _ = (self.names, self.stack_bytes);
        Err(Error::new(
            tachograph_core::ErrorKind::Unsupported,
            "the linux sampler works on Linux on x86_64 and aarch64 only",
        ))
    }
}

/// Makes the calling thread known to the sampler: its first label can be read
/// at once, and a capture gives it a timer of its own within milliseconds,
/// whatever its age.
///
/// Worth calling on threads that stay, as the workers of a runtime are: for
/// tokio, `Builder::on_thread_start(tachograph_sampler_linux::register_thread)`.
/// A thread that runs a task registers itself. Does nothing the second time, and
/// on platforms without this sampler.
///
/// ```
/// std::thread::spawn(|| {
///     tachograph_sampler_linux::register_thread();
///     // ... work ...
/// });
/// ```
pub fn register_thread() {
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    {
        sampling::observe_labels();
        tachograph_core::labels::introduce();
    }
}
