//! What was seen of a history, by those who stood around the recorder.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tachograph_core::store::CaptureName;
use tachograph_core::{End, ErrorKind, Status};

use crate::history::Start;

/// What was seen.
#[derive(Debug, Default)]
pub struct Record {
    /// The recorders, one after the other.
    pub lives: Vec<Life>,
    /// The starts that made no recorder.
    pub refused: Vec<Refused>,
    /// What stood in the directory whenever a recorder had given it back, and
    /// at the end.
    pub inventories: Vec<Inventory>,
}

/// A moment by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Monotonic, from the beginning.
    pub at_ms: u64,
    /// By the wall clock, from what that showed at the beginning.
    pub wall_ms: i64,
}

/// A start that made no recorder.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// When.
    pub started: Moment,
    /// The deadline.
    pub until_ms: i64,
    /// Whether another recorder held the directory.
    pub was_held: bool,
    /// The error; none if the window was over.
    pub error: Option<ErrorKind>,
}

/// One recorder.
#[derive(Debug)]
pub struct Life {
    /// Which event started it.
    pub event: usize,
    /// How.
    pub start: Start,
    /// When.
    pub started: Moment,
    /// What went through its parts.
    pub seen: Seen,
    /// Requests that were made while it recorded.
    pub asked: u64,
    /// When it was stopped, and when whoever did was told that it had.
    pub stops: Vec<(u64, Option<u64>)>,
    /// When the last handle was dropped.
    pub handles_dropped_ms: Option<u64>,
    /// When its driver was dropped on its way.
    pub dropped: Option<Dropped>,
    /// When its process died, before the directory was free.
    pub killed_ms: Option<u64>,
    /// The lines that said it was over.
    pub end_lines: Vec<EndLine>,
    /// Warnings of other things, each the start of its text.
    pub warnings: Vec<String>,
    /// When the directory was free again.
    pub given_back_ms: Option<u64>,
    /// Whether its sampler ran when it was waiting or had given back.
    pub sampled_idly: bool,
    /// The ends that its status told, without repetitions.
    pub ends: Vec<End>,
    /// Its last status, unless its handles were dropped or it was killed.
    pub status: Option<Status>,
}

impl Life {
    pub(crate) fn new(event: usize, start: Start, started: Moment) -> Self {
        Self {
            event,
            start,
            started,
            seen: Seen::default(),
            asked: 0,
            stops: Vec::new(),
            handles_dropped_ms: None,
            dropped: None,
            killed_ms: None,
            end_lines: Vec::new(),
            warnings: Vec::new(),
            given_back_ms: None,
            sampled_idly: false,
            ends: Vec::new(),
            status: None,
        }
    }

    /// From when on the driver does nothing any more, if not by itself.
    pub(crate) fn cut_ms(&self) -> Option<u64> {
        let dropped_ms = self.dropped.map(|dropped| dropped.at_ms);
        dropped_ms.into_iter().chain(self.killed_ms).min()
    }
}

/// A driver that was dropped before recording was over.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// When.
    pub at_ms: u64,
    /// Whether blocking work went on.
    pub finishes_work: bool,
}

/// A line that said that a recorder was over.
#[derive(Clone, Debug)]
pub struct EndLine {
    /// When.
    pub at_ms: u64,
    /// Whether it was a warning.
    pub warns: bool,
    /// What it said.
    pub why: String,
}

/// What went through the parts of a recorder.
#[derive(Debug, Default)]
pub struct Seen {
    /// The regular files that it found when it recovered.
    pub found: Option<Vec<String>>,
    /// The captures that it tried.
    pub attempts: Vec<Attempt>,
}

/// One capture that was tried: from the look at the budget on.
#[derive(Debug)]
pub struct Attempt {
    /// When the store was asked what stands in it.
    pub looked: Moment,
    /// Entries in the directory then.
    pub entries: u64,
    /// Bytes in the directory then.
    pub bytes: u64,
    /// Bytes free then.
    pub bytes_free: Option<u64>,
    /// Why, by the log.
    pub reason: Option<String>,
    /// Under which name, and when the unfinished profile was asked for.
    pub staged: Option<(CaptureName, Moment)>,
    /// When the sampler was asked to start.
    pub sampler_asked: Option<Moment>,
    /// When it was running.
    pub sampling_since: Option<Moment>,
    /// When it was asked to stop, or dropped.
    pub sampling_until: Option<Moment>,
    /// When it was saved, and what.
    pub saved: Option<(Moment, Arc<Published>)>,
    /// Whether the operator has taken it away.
    pub collected: bool,
    /// Whether the log said that it was skipped.
    pub skipped: bool,
}

/// What was handed to the store.
pub struct Published {
    /// Its name.
    pub name: CaptureName,
    /// The sidecar.
    pub sidecar: Vec<u8>,
    /// The profile.
    pub profile: Vec<u8>,
    /// Entries in the directory, once it was there.
    pub entries_after: u64,
    /// Bytes in the directory, once it was there.
    pub bytes_after: u64,
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sidecar = String::from_utf8_lossy(&self.sidecar);
        f.debug_struct("Published")
            .field("name", &self.name)
            .field("sidecar", &sidecar.split_whitespace().collect::<String>())
            .field("bytes", &self.profile.len())
            .finish_non_exhaustive()
    }
}

/// What stood in the directory.
#[derive(Debug)]
pub struct Inventory {
    /// When.
    pub at_ms: u64,
    /// Of which life this is the end.
    pub life: Option<usize>,
    /// What was there: regular files with their bytes, and other entries.
    pub entries: BTreeMap<String, Option<Vec<u8>>>,
    /// What somebody else had put there: the sizes of regular files, and other
    /// entries.
    pub foreign: BTreeMap<String, Option<u64>>,
    /// The captures that were saved and not taken away.
    pub saved: Vec<Arc<Published>>,
}
