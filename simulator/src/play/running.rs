//! A recorder that runs, and those who deal with it.

use std::cell::Cell;
use std::rc::Rc;

use tachograph_core::testing::{MemoryDirectory, ScriptedSampler, Simulation};
use tachograph_core::{Recorder, State};

use crate::logs::{self, Line};
use crate::parts::Notes;
use crate::pool::Pool;
use crate::record::{EndLine, Life};

/// A recorder and those who deal with it.
pub(super) struct Running {
    pub(super) recorder: Option<Recorder>,
    /// Runs the driver; gone when that was dropped.
    pub(super) runtime: Option<Simulation>,
    /// Runs those who wait for a stop.
    pub(super) waiters: Simulation,
    pub(super) returned: Vec<Rc<Cell<Option<u64>>>>,
    pub(super) pool: Pool,
    pub(super) sampler: ScriptedSampler,
    pub(super) notes: Notes,
    /// All of it but what the probes have seen.
    pub(super) life: Life,
}

impl Running {
    /// Notes what was logged.
    pub(super) fn listen(&mut self, now_ms: u64) {
        for line in logs::take() {
            let Line {
                warns,
                message,
                reason,
                why,
            } = line;
            match &*message {
                "recording ended" => self.life.end_lines.push(EndLine {
                    at_ms: now_ms,
                    warns,
                    why: why.unwrap_or_default(),
                }),
                "capture started" => self.notes.with(|seen| {
                    if let Some(attempt) = seen.attempts.last_mut() {
                        attempt.reason = reason;
                    }
                }),
                "capture skipped" => self.notes.with(|seen| {
                    if let Some(attempt) = seen.attempts.last_mut() {
                        attempt.skipped = true;
                    }
                }),
                _ if warns => self.life.warnings.push(message),
                _ => {}
            }
        }
    }

    /// Notes what can be seen from outside.
    pub(super) fn look(&mut self, now_ms: u64, directory: &MemoryDirectory) {
        let status = self.recorder.as_ref().map(Recorder::status);
        if self.life.given_back_ms.is_none() && !directory.is_held() {
            self.life.given_back_ms = Some(now_ms);
        }
        let is_waiting = status
            .as_ref()
            .is_some_and(|status| matches!(status.state, State::Waiting { .. }));
        if (is_waiting && self.life.dropped.is_none()) || self.life.given_back_ms.is_some() {
            self.life.sampled_idly |= self.sampler.is_running();
        }
        if let Some(status) = &status
            && let State::Ended(end) = &status.state
            && self.life.ends.last() != Some(end)
        {
            self.life.ends.push(end.clone());
        }
        self.life.status = status;
    }

    pub(super) fn pull_returned(&mut self) {
        for (stop, returned) in self.life.stops.iter_mut().zip(&self.returned) {
            stop.1 = returned.get();
        }
    }
}
