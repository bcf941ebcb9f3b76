//! The one profiler that the `pprof` crate has, started and stopped with care.

use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

use pprof::{ProfilerGuard, ProfilerGuardBuilder, UnresolvedReport};
use tachograph_core::{Error, ErrorKind};

use crate::signal::{self, Action};
use crate::spill::{self, Candidates, Spill};

/// How often to try to tell the profiler's file from others that appear at the
/// same time.
const TRIES: usize = 8;

/// The profiler. Dropping it stops it and removes its file.
pub(crate) struct Profiler {
    running: Option<Running>,
    spill: Spill,
}

struct Running {
    guard: ProfilerGuard<'static>,
    /// What the crate made the process do about `SIGPROF`.
    action: Option<Action>,
}

impl Profiler {
    /// Starts the profiler. Nobody else in this process may use it or
    /// `SIGPROF`.
    pub(crate) fn start(frequency_hz: u32) -> Result<Self, Error> {
        spill::check_directory()?;
        let mut profiler = Self {
            running: None,
            spill: warm_up()?,
        };
        profiler.spill.settle();
        for _ in 1..TRIES {
            if profiler.spill.known().is_some() {
                break;
            }
            profiler.spill = warm_up()?;
            profiler.spill.settle();
        }
        let guard = build(frequency_hz)?;
        let action = Action::current().ok();
        profiler.running = Some(Running { guard, action });
        Ok(profiler)
    }

    /// Whether its file is of a decent size.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.spill.check()
    }

    /// Takes what was sampled, and the CPU time at which sampling ended. From
    /// then on signals find the profiler locked and sample nothing.
    pub(crate) fn take(self) -> Result<(UnresolvedReport, Duration), Error> {
        self.check()?;
        let ended_at = cpu_time();
        let Some(running) = &self.running else {
            unreachable!("a started profiler runs until its drop");
        };
        match running.guard.report().build_unresolved() {
            Ok(report) => Ok((report, ended_at)),
            Err(error) => Err(failed("cannot read the samples").with_source(error)),
        }
    }
}

impl Running {
    /// Stops the profiler, which leaves `SIGPROF` ignored. If somebody has
    /// installed a handler meanwhile, that one is put back; says so.
    fn stop(self) -> bool {
        let now = Action::current().ok();
        let foreign = now.filter(|now| match &self.action {
            Some(ours) => now.is_handled() && !now.has_handler_of(ours),
            None => false,
        });
        drop(self.guard);
        if let Some(foreign) = &foreign {
            foreign.restore();
        }
        foreign.is_some()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // A start that failed has made a file, too.
        if let Some(running) = self.running.take() {
            let before = Candidates::now();
            let is_taken = running.stop();
            self.spill = before.new_since();
            self.spill.settle();
            for _ in 1..TRIES {
                // Another round would take the signal from its new owner.
                if is_taken || self.spill.known().is_some() {
                    break;
                }
                match warm_up() {
                    Ok(next) => self.spill = next,
                    Err(_) => return,
                }
                self.spill.settle();
            }
        }
        if let Some(file) = self.spill.known() {
            // It is empty. Should it not go now, the next start replaces it.
            let _ = fs::remove_file(file);
        }
    }
}

/// The CPU time of this process since it started.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Starts and stops the profiler once, which gives it a new file, and the first
/// time lets its handler run once in peace: that is when it initialises its
/// unwinder, which allocates, and in a handler that interrupts an allocation
/// would wait for itself.
fn warm_up() -> Result<Spill, Error> {
    static UNWINDER_READY: OnceLock<()> = OnceLock::new();

    let before = Candidates::now();
    // The timer runs from here on, but it counts a second of CPU time first.
    let guard = build(1)?;
    if UNWINDER_READY.get().is_none() {
        // Nothing may fire in between that allocates on another thread.
        signal::raise_here()
            .map_err(|error| failed("cannot warm the unwinder up").with_source(error))?;
        let _ = UNWINDER_READY.set(());
    }
    drop(guard);
    Ok(before.new_since())
}

fn build(frequency_hz: u32) -> Result<ProfilerGuard<'static>, Error> {
    let frequency = i32::try_from(frequency_hz)
        .ok()
        .filter(|frequency| *frequency > 0)
        .ok_or_else(|| failed("the frequency is out of range"))?;
    ProfilerGuardBuilder::default()
        .frequency(frequency)
        .build()
        .map_err(|error| match error {
            // Nobody else runs it: that was asked before. It is an earlier stop
            // that failed.
            pprof::Error::Running => failed(
                "the pprof crate could not be stopped earlier, because its temporary directory \
                 was not writable then: restart the process to sample again",
            ),
            pprof::Error::CreatingError => failed(
                "the pprof crate could not make its temporary file when it was first used: \
                 restart the process with a writable TMPDIR",
            ),
            error => failed("the pprof crate does not start").with_source(error),
        })
}

fn failed(message: &str) -> Error {
    Error::new(ErrorKind::Sampling, message)
}

/// Whether anybody else uses `SIGPROF`.
pub(crate) fn check_signal_is_free() -> Result<(), Error> {
    let unknown = |error: io::Error| failed("cannot ask about SIGPROF").with_source(error);
    if signal::is_free().map_err(unknown)? {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Busy,
        "another profiler handles SIGPROF or has armed its timer",
    ))
}
