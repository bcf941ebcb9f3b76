//! What the page is given: a recording as numbers and texts, small enough to mail.
//!
//! The page's `data.js` reads exactly this. Times are milliseconds since 1970-01-01 UTC,
//! CPU time is nanoseconds, texts are numbers into `strings`.

use std::cell::RefCell;
use std::time::SystemTime;

use hashbrown::{HashMap, HashSet};
use serde::{Serialize, Serializer};
use tachograph_core::store::EntryKind;
use tachograph_profile::Profile;
use tachograph_profile::reader::{FrameSet, Granularity};

use super::facts::{self, Facts};
use super::gaps::{Gap, Why};
use super::samples::{Rows, Values};
use super::strings::{Strings, bounded};
use super::tree::StackTree;
use crate::app;
use crate::input::Capture;
use crate::names;
use crate::reading::label_frame;

/// The page counts in floating point, which is exact up to here.
const CPU_NANOS_MAX: i64 = 1 << 53;
/// A sample without any frame has this one, so that totals stay true.
const NO_STACK: &str = "[no stack]";

/// All that the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Recording {
    version: &'static str,
    directory: String,
    from: f64,
    to: f64,
    deadline: Option<f64>,
    #[serde(serialize_with = "texts")]
    strings: Strings,
    functions: Functions,
    stacks: StackTree,
    tasks: Names,
    threads: Names,
    labels: LabelSets,
    captures: Vec<CaptureOnPage>,
    pub(super) notes: Vec<Note>,
    gaps: Vec<GapOnPage>,
    #[serde(skip)]
    frames: FrameSet,
    #[serde(skip)]
    cpu: i64,
}

/// Functions by number, as columns.
#[derive(Debug, Default, Serialize)]
struct Functions {
    name: Vec<u32>,
    /// The same, shortened.
    short: Vec<u32>,
    /// 1 if it is not the application's own.
    library: Vec<u8>,
}

/// Pairs of a task and a thread, as columns of places in `tasks` and `threads`.
#[derive(Debug, Default, Serialize)]
struct LabelSets {
    task: Vec<u32>,
    thread: Vec<u32>,
    #[serde(skip)]
    numbers: HashMap<(u32, u32), u32>,
}

/// Names of tasks or threads, as texts; null for those without a name.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Names {
    texts: Vec<Option<u32>>,
    #[serde(skip)]
    places: HashMap<Option<u32>, u32>,
}

#[derive(Debug, Serialize)]
struct CaptureOnPage {
    start: f64,
    end: f64,
    /// Seconds that were sampled.
    wall: f64,
    /// CPU seconds used, by the process's own counter.
    used: Option<f64>,
    cores: Option<f64>,
    /// CPU time that the samples stand for.
    cpu: i64,
    samples: i64,
    lost: u64,
    reason: Option<u32>,
    triggered: bool,
    build: Option<u32>,
    sampler: Option<u32>,
    rust: Option<u32>,
    warnings: Vec<u32>,
    details: Vec<Vec<u32>>,
    rows: Rows,
}

/// An entry of the directory that is not a whole capture.
#[derive(Debug, Serialize)]
pub(super) struct Note {
    at: f64,
    entry: String,
    pub(super) kind: NoteKind,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NoteKind {
    /// An unfinished profile stands there.
    Unfinished,
    /// Something is missing or cannot be read.
    Bad,
}

#[derive(Debug, Serialize)]
struct GapOnPage {
    from: f64,
    to: f64,
    cores: Option<f64>,
    why: Vec<Why>,
}

impl Names {
    /// Where `text` is in the list, at its end if it is new.
    fn place(&mut self, text: Option<u32>) -> u32 {
        let next = u32::try_from(self.texts.len()).expect("under 2^32 names");
        let place = *self.places.entry(text).or_insert(next);
        if place == next {
            self.texts.push(text);
        }
        place
    }
}

impl Note {
    pub(super) fn bad(capture: &Capture, problem: &str) -> Self {
        Self {
            at: millis(capture.name.start()),
            entry: capture.name.profile(),
            kind: NoteKind::Bad,
            text: bounded(problem).into_owned(),
        }
    }

    pub(super) fn unfinished(capture: &Capture, is_recording: bool) -> Self {
        let why = match is_recording {
            true => "a recorder is at work, so it may be going on",
            false => "the process died during it",
        };
        Self {
            at: millis(capture.name.start()),
            entry: capture.name.entry(EntryKind::PartialProfile),
            kind: NoteKind::Unfinished,
            text: format!("a capture began and is not complete: {why}"),
        }
    }
}

impl Recording {
    pub(super) fn new(directory: String) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            directory,
            from: 0.0,
            to: 0.0,
            deadline: None,
            strings: Strings::default(),
            functions: Functions::default(),
            stacks: StackTree::new(),
            tasks: Names::default(),
            threads: Names::default(),
            labels: LabelSets::default(),
            captures: Vec::new(),
            notes: Vec::new(),
            gaps: Vec::new(),
            frames: FrameSet::new(Granularity::Functions),
            cpu: 0,
        }
    }

    /// Takes in a capture, which must not start before those that were taken in already.
    ///
    /// # Errors
    ///
    /// If it is not the profile of a CPU, or holds what no recorder writes.
    pub(super) fn take_in(
        &mut self,
        capture: &Capture,
        profile: &Profile,
    ) -> Result<Facts, String> {
        let facts = Facts::of(capture, profile)?;
        let values = Values::of(profile)?;
        let whole = self.cpu.saturating_add(values.cpu);
        if whole > CPU_NANOS_MAX {
            return Err(format!(
                "its samples stand for {} s of CPU; over {} s in all captures together \
                 cannot be counted",
                values.cpu / 1_000_000_000,
                CPU_NANOS_MAX / 1_000_000_000
            ));
        }
        let rows = self.rows(profile, &values)?;
        self.cpu = whole;
        let entry = self.entry(&facts, &values, rows);
        self.captures.push(entry);
        Ok(facts)
    }

    fn entry(&mut self, facts: &Facts, values: &Values, rows: Rows) -> CaptureOnPage {
        let sidecar = facts.sidecar.as_ref();
        let used = sidecar.and_then(facts::used);
        let mut number = |text: &str| self.strings.number(text);
        CaptureOnPage {
            start: millis(facts.start),
            end: millis(facts.end),
            wall: facts.sampled.as_secs_f64(),
            used: used.map(|(seconds, _)| seconds),
            cores: used.map(|(_, cores)| cores),
            cpu: values.cpu,
            samples: values.samples,
            lost: sidecar.map_or(0, |it| it.lost),
            reason: sidecar.map(|it| number(&it.reason)),
            triggered: sidecar.is_some() && !facts.is_periodic(),
            build: facts.build_id().map(&mut number),
            sampler: sidecar.map(|it| {
                let sampler = facts::sampler_of(it);
                number(&format!("{sampler}, {} Hz", it.sampler.frequency_hz))
            }),
            rust: sidecar.map(|it| number(&it.rust_version)),
            warnings: sidecar
                .map(|it| facts::warnings(it, values.samples))
                .unwrap_or_else(|| vec!["there is no sidecar that can be read".to_owned()])
                .iter()
                .map(|text| number(text))
                .collect(),
            details: sidecar
                .map(facts::details)
                .unwrap_or_default()
                .iter()
                .map(|line| line.iter().map(|text| number(text)).collect())
                .collect(),
            rows,
        }
    }

    fn rows(&mut self, profile: &Profile, values: &Values) -> Result<Rows, String> {
        let libraries = RefCell::new(HashSet::default());
        let see = |name: &str, file: &str| {
            if !app::is_app(name, file) {
                libraries.borrow_mut().insert(name.to_owned());
            }
            true
        };
        let stacks = self
            .frames
            .take_in(profile, see)
            .map_err(|it| format!("{it:#}"))?;
        let mut rows = Vec::with_capacity(profile.samples().len());
        for sample in profile.samples() {
            let mut stack = self.stacks.number(stacks.of(&sample).rev());
            if stack == 0 {
                let none = self.frames.number(&label_frame(NO_STACK.to_owned()));
                stack = self.stacks.number([none].into_iter());
            }
            let label = self.label(sample.label("task"), sample.label("thread"));
            let of = |place: usize| sample.values()[place];
            rows.push((stack, label, of(values.samples_place), of(values.cpu_place)));
        }
        self.name_functions(&libraries.into_inner());
        rows.sort_unstable();
        Ok(Rows::of(&rows))
    }

    /// Names the functions that are new; `libraries` are the names of those that are not
    /// the application's own.
    fn name_functions(&mut self, libraries: &HashSet<String>) {
        for number in self.functions.name.len()..self.frames.len() {
            let number = u32::try_from(number).expect("a frame's number");
            let frame = self.frames.get(number);
            let library = u8::from(frame.name.is_empty() || libraries.contains(&*frame.name));
            let full = names::name(frame, true);
            let short = names::name(frame, false);
            self.functions.name.push(self.strings.number(&full));
            self.functions.short.push(self.strings.number(&short));
            self.functions.library.push(library);
        }
    }

    fn label(&mut self, task: Option<&str>, thread: Option<&str>) -> u32 {
        let task = self.tasks.place(task.map(|it| self.strings.number(it)));
        let thread = self.threads.place(thread.map(|it| self.strings.number(it)));
        let labels = &mut self.labels;
        let next = u32::try_from(labels.task.len()).expect("under 2^32 label sets");
        let number = *labels.numbers.entry((task, thread)).or_insert(next);
        if number == next {
            labels.task.push(task);
            labels.thread.push(thread);
        }
        number
    }

    /// Sets what lies between the captures and behind them, and the stretch of time that
    /// all of it covers.
    pub(super) fn set_window(&mut self, gaps: Vec<Gap>, deadline: Option<SystemTime>) {
        self.deadline = deadline.map(millis);
        self.gaps = gaps
            .into_iter()
            .map(|gap| GapOnPage {
                from: millis(gap.from),
                to: millis(gap.to),
                cores: gap.cores,
                why: gap.why,
            })
            .collect();
        let captures = self.captures.iter().flat_map(|it| [it.start, it.end]);
        let notes = self.notes.iter().map(|it| it.at);
        let moments = captures.chain(notes).chain(self.deadline);
        let range = moments.fold(None, |range: Option<(f64, f64)>, at| {
            let (from, to) = range.unwrap_or((at, at));
            Some((from.min(at), to.max(at)))
        });
        (self.from, self.to) = range.unwrap_or((0.0, 0.0));
    }
}

fn millis(time: SystemTime) -> f64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64() * 1e3,
        Err(error) => -error.duration().as_secs_f64() * 1e3,
    }
}

fn texts<S: Serializer>(strings: &Strings, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(strings.texts())
}
