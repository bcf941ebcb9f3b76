//! A profile message under construction: text, ids and references.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use crate::build::{Labels, ProfileMeta};
use crate::module::LoadedModules;
use crate::profile::Profile;
use crate::proto;
use crate::samples::Samples;
use crate::strings::Strings;
use crate::symbolize::{Frame, Resolved};

/// Stands for code outside all modules.
const UNKNOWN: &str = "[unknown]";
/// Stands for a stack that could not be walked at all.
const NO_STACK: &str = "[no stack]";

/// First all addresses are located, then samples may refer to them.
pub(crate) struct Draft<'a> {
    modules: &'a LoadedModules,
    message: proto::Profile,
    strings: Strings,
    /// By module and segment: the place in the message.
    mappings: HashMap<(usize, usize), usize>,
    /// For each mapping, what all locations in it have; `None` as long as there are
    /// none.
    known: Vec<Option<Known>>,
    samples: Samples,
    /// By address: the place.
    locations: HashMap<u64, usize>,
    /// By name, system name and file: the id.
    functions: HashMap<(i64, i64, i64), u64>,
    no_stack: Option<usize>,
}

/// What symbols told of an address.
#[derive(Clone, Copy)]
struct Known {
    functions: bool,
    filenames: bool,
    lines: bool,
    inlines: bool,
}

impl Known {
    fn of(resolved: &Resolved) -> Self {
        let frames = &resolved.frames;
        let debug = resolved.from_debug;
        Self {
            functions: !frames.is_empty(),
            filenames: debug && frames.iter().all(|frame| frame.file.is_some()),
            lines: debug && frames.iter().all(|frame| frame.line > 0),
            inlines: debug,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            functions: self.functions && other.functions,
            filenames: self.filenames && other.filenames,
            lines: self.lines && other.lines,
            inlines: self.inlines && other.inlines,
        }
    }
}

impl<'a> Draft<'a> {
    pub(crate) fn new(modules: &'a LoadedModules) -> Self {
        let mut draft = Self {
            modules,
            message: proto::Profile::default(),
            samples: Samples::new(2),
            strings: Strings::new(),
            mappings: HashMap::new(),
            known: Vec::new(),
            locations: HashMap::new(),
            functions: HashMap::new(),
            no_stack: None,
        };
        // Readers take the first mapping for the main binary's.
        draft.mapping(0, 0);
        draft
    }

    /// Adds an address that samples may have in their stacks.
    pub(crate) fn locate(&mut self, address: u64, resolved: Resolved) {
        let place = self.modules.place(address);
        let mapping_id = place.map_or(0, |place| {
            let mapping = self.mapping(place.module, place.segment);
            let now = Known::of(&resolved);
            let known = &mut self.known[mapping];
            *known = Some(known.map_or(now, |before| before.and(now)));
            self.message.mapping[mapping].id
        });
        let line = if resolved.frames.is_empty() {
            let name = place.map_or(UNKNOWN.to_owned(), |place| {
                let module = self.modules.get(place.module);
                format!("{}+{:#x}", module.file_name(), module.link_address(address))
            });
            vec![self.placeholder(&name)]
        } else {
            resolved.frames.iter().map(|it| self.line(it)).collect()
        };
        let place = self.location(mapping_id, address, line);
        self.locations.insert(address, place);
    }

    /// Adds a sample; its addresses must have been located.
    pub(crate) fn sample(&mut self, stack: &[u64], labels: Labels<'_>, value: [i64; 2]) {
        for address in stack {
            self.samples.add_place(self.locations[address]);
        }
        if stack.is_empty() {
            let place = self.no_stack();
            self.samples.add_place(place);
        }
        value.into_iter().for_each(|it| self.samples.add_value(it));
        for (key, text) in [("thread", labels.thread), ("task", labels.task)] {
            if let Some(text) = text {
                self.samples.add_label(proto::Label {
                    key: self.strings.number(key),
                    str: self.strings.number(text),
                    ..Default::default()
                });
            }
        }
        self.samples.end().expect("a value for each of two types");
    }

    pub(crate) fn comment(&mut self, text: &str) {
        let text = self.strings.number(text);
        self.message.comment.push(text);
    }

    /// `period` is in nanoseconds.
    pub(crate) fn finish(mut self, meta: &ProfileMeta, period: i64) -> Profile {
        for (mapping, known) in self.message.mapping.iter_mut().zip(self.known) {
            if let Some(known) = known {
                mapping.has_functions = known.functions;
                mapping.has_filenames = known.filenames;
                mapping.has_line_numbers = known.lines;
                mapping.has_inline_frames = known.inlines;
            }
        }
        let mut value_type = |name, unit| proto::ValueType {
            r#type: self.strings.number(name),
            unit: self.strings.number(unit),
        };
        let cpu = value_type("cpu", "nanoseconds");
        self.message.sample_type = vec![value_type("samples", "count"), cpu];
        self.message.default_sample_type = cpu.r#type;
        self.message.period_type = Some(cpu);
        self.message.period = period;
        self.message.time_nanos = unix_nanos(meta.started_at);
        self.message.duration_nanos = nanos(meta.duration);
        self.message.string_table = self.strings.into_table();
        Profile::from_parts(self.message, self.samples)
            .expect("a draft refers only to what it defined")
    }

    /// The place of a segment's mapping in the message.
    fn mapping(&mut self, module: usize, segment: usize) -> usize {
        if let Some(&place) = self.mappings.get(&(module, segment)) {
            return place;
        }
        let place = self.message.mapping.len();
        let it = self.modules.get(module);
        let range = it.segments().get(segment);
        self.message.mapping.push(proto::Mapping {
            id: place as u64 + 1,
            memory_start: range.map_or(0, |it| it.start),
            memory_limit: range.map_or(0, |it| it.end),
            file_offset: range.map_or(0, |it| it.file_offset),
            filename: self.strings.number(&it.path().to_string_lossy()),
            build_id: self.strings.number(it.build_id().unwrap_or("")),
            ..Default::default()
        });
        self.known.push(None);
        self.mappings.insert((module, segment), place);
        place
    }

    /// The place of a new location.
    fn location(&mut self, mapping_id: u64, address: u64, line: Vec<proto::Line>) -> usize {
        let place = self.message.location.len();
        self.message.location.push(proto::Location {
            id: place as u64 + 1,
            mapping_id,
            address,
            line,
            is_folded: false,
        });
        place
    }

    fn no_stack(&mut self) -> usize {
        if let Some(place) = self.no_stack {
            return place;
        }
        let line = vec![self.placeholder(NO_STACK)];
        let place = self.location(0, 0, line);
        self.no_stack = Some(place);
        place
    }

    fn line(&mut self, frame: &Frame) -> proto::Line {
        let file = frame.file.as_deref().unwrap_or("");
        proto::Line {
            function_id: self.function(&frame.name, &frame.system_name, file),
            line: i64::from(frame.line),
            column: i64::from(frame.column),
        }
    }

    fn placeholder(&mut self, name: &str) -> proto::Line {
        proto::Line {
            function_id: self.function(name, name, ""),
            ..Default::default()
        }
    }

    fn function(&mut self, name: &str, system_name: &str, file: &str) -> u64 {
        let name = self.strings.number(name);
        let system_name = self.strings.number(system_name);
        let filename = self.strings.number(file);
        let next = self.message.function.len() as u64 + 1;
        let id = *self
            .functions
            .entry((name, system_name, filename))
            .or_insert(next);
        if id == next {
            self.message.function.push(proto::Function {
                id,
                name,
                system_name,
                filename,
                start_line: 0,
            });
        }
        id
    }
}

/// Nanoseconds since 1970-01-01 UTC, negative before.
fn unix_nanos(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => nanos(since),
        Err(error) => -nanos(error.duration()),
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
