//! A hook at the seam that answers chosen calls with an error of the system.

#![allow(dead_code, reason = "no test needs all of it")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use tachograph_storage_posix::seam::{Call, Hook, Operation};

/// Which calls go wrong, counted from 0, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) how: How,
    pub(crate) errno: Errno,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The call is not made.
    Once,
    /// As many calls in a row are not made.
    Times(usize),
    /// Neither is any later one.
    FromThenOn,
    /// The call is made, and its success not reported.
    AfterTheEffect,
}

/// What the system is like that the store believes to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum System {
    #[default]
    Ordinary,
    /// No call renames without replacing.
    RenamesInTwoSteps,
    /// A umask takes permissions from what is made. (A real one belongs to the
    /// whole process.)
    HasUmask,
    /// A write takes a byte at first.
    WritesShort,
}

/// A call that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) operation: Operation,
    pub(crate) name: Option<PathBuf>,
    pub(crate) new_name: Option<PathBuf>,
    /// What it belongs to.
    pub(crate) phase: &'static str,
    /// How many syncs came before it in that phase.
    pub(crate) syncs_in_phase: usize,
}

impl Seen {
    /// Whether the call is about that entry.
    pub(crate) fn is_about(&self, name: &str) -> bool {
        self.name.as_deref() == Some(Path::new(name))
            || self.new_name.as_deref() == Some(Path::new(name))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Faulty {
    system: System,
    faults: Vec<Fault>,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    phase: &'static str,
    syncs_in_phase: usize,
    /// What strikes when the call in progress is over.
    pending: Option<Errno>,
}

impl Faulty {
    pub(crate) fn new(system: System, faults: impl IntoIterator<Item = Fault>) -> Arc<Self> {
        Arc::new(Self {
            system,
            faults: faults.into_iter().collect(),
            log: Mutex::default(),
        })
    }

    /// Says what the calls from now on belong to.
    pub(crate) fn begin(&self, phase: &'static str) {
        let mut log = self.log();
        log.phase = phase;
        log.syncs_in_phase = 0;
    }

    /// All calls so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log().seen.clone()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook for Faulty {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        let mut log = self.log();
        let number = log.seen.len();
        let (phase, syncs_in_phase) = (log.phase, log.syncs_in_phase);
        log.syncs_in_phase += usize::from(call.operation == Operation::Sync);
        log.seen.push(Seen {
            operation: call.operation,
            name: call.name.map(Path::to_owned),
            new_name: call.new_name.map(Path::to_owned),
            phase,
            syncs_in_phase,
        });
        log.pending = None;
        for fault in &self.faults {
            let is_struck = match fault.how {
                How::Once => number == fault.at,
                How::Times(times) => (fault.at..fault.at + times).contains(&number),
                How::FromThenOn => number >= fault.at,
                How::AfterTheEffect => {
                    if number == fault.at {
                        log.pending = Some(fault.errno);
                    }
                    false
                }
            };
            if is_struck {
                return Err(fault.errno.into());
            }
        }
        match (self.system, call.operation) {
            (System::RenamesInTwoSteps, Operation::Rename) => return Err(Errno::NOSYS.into()),
            (System::WritesShort, Operation::Write) => call.bytes = &call.bytes[..1],
            _ => {}
        }
        Ok(())
    }

    fn after(&self, call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        if outcome.is_ok()
            && self.system == System::HasUmask
            && call.operation == Operation::MakeDirectory
        {
            let name = call.name.expect("it has a name");
            rustix::fs::chmodat(call.descriptor, name, Mode::RUSR, AtFlags::empty())?;
        }
        match self.log().pending.take() {
            Some(errno) => Err(errno.into()),
            None => Ok(()),
        }
    }
}
