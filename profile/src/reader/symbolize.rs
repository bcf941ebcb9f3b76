//! Functions, inlined calls and lines put into a profile, out of the binaries it is of.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::binary::Binary;
use crate::profile::Profile;
use crate::proto;
use crate::symbolize::Frame;
use crate::view::MappingView;

/// What came of symbolizing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbolized {
    /// How many locations are known by lines now.
    pub located: usize,
    /// Binaries that could not be read after all: a path, and why.
    pub problems: Vec<(String, String)>,
}

impl Profile {
    /// Whether a binary could tell more of `mapping` than the profile knows.
    #[must_use]
    pub fn lacks_lines(&self, mapping: &MappingView<'_>) -> bool {
        let mapping = mapping.message();
        if mapping.has_line_numbers || mapping.has_inline_frames {
            return false;
        }
        let mut own = self.tables().location.iter();
        !own.any(|it| it.mapping_id == mapping.id && it.line.iter().any(|line| line.line > 0))
    }

    /// Puts functions, inlined calls and lines in, for each mapping that `binary_of`
    /// has a binary for. It must be of the mapping's build: compare
    /// [`MappingView::build_id`] with [`Binary::build_id`].
    ///
    /// Where the binary knows nothing of an address, what the profile says stays.
    ///
    /// # Panics
    ///
    /// If a binary is borrowed meanwhile.
    #[must_use]
    pub fn symbolized(
        self,
        mut binary_of: impl FnMut(&MappingView<'_>) -> Option<Rc<RefCell<Binary>>>,
    ) -> (Self, Symbolized) {
        let mut outcome = Symbolized::default();
        let mut found = Vec::new();
        for (place, mapping) in self.mappings().enumerate() {
            let Some(binary) = binary_of(&mapping) else {
                continue;
            };
            let (locations, addresses): (Vec<usize>, Vec<u64>) = self
                .tables()
                .location
                .iter()
                .enumerate()
                .filter(|(_, it)| self.index().mappings.place(it.mapping_id) == Some(place))
                .filter_map(|(number, it)| {
                    let mapping = mapping.message();
                    let offset = it.address.wrapping_sub(mapping.memory_start);
                    let offset = offset.wrapping_add(mapping.file_offset);
                    Some((number, binary.borrow().link_address(offset)?))
                })
                .unzip();
            match binary.borrow_mut().resolve(&addresses) {
                Ok(resolved) => found.push((place, locations, resolved)),
                Err(error) => {
                    let why = format!("{error:#}");
                    outcome.problems.push((mapping.path().to_owned(), why));
                }
            }
        }
        let (tables, samples) = self.into_parts();
        let mut writer = Writer::of(tables);
        for (mapping, locations, resolved) in found {
            let mut known = (true, true);
            for (location, resolved) in locations.into_iter().zip(resolved) {
                if !resolved.from_debug {
                    known = (false, false);
                    continue;
                }
                known.0 &= resolved.frames.iter().all(|it| it.file.is_some());
                known.1 &= resolved.frames.iter().all(|it| it.line > 0);
                outcome.located += 1;
                writer.locate(location, &resolved.frames);
            }
            let mapping = &mut writer.message.mapping[mapping];
            mapping.has_functions = true;
            mapping.has_filenames = known.0;
            mapping.has_line_numbers = known.1;
            mapping.has_inline_frames = true;
        }
        let profile = Self::from_parts(writer.message, samples).expect("made coherent");
        (profile, outcome)
    }
}

/// Adds functions and strings to a message.
struct Writer {
    message: proto::Profile,
    strings: HashMap<String, i64>,
    functions: HashMap<(i64, i64, i64), u64>,
}

impl Writer {
    /// Numbers the functions anew, since any number may be taken.
    fn of(mut message: proto::Profile) -> Self {
        let strings = message.string_table.iter().cloned().zip(0..).collect();
        let mut ids = HashMap::new();
        let mut functions = HashMap::new();
        for (function, id) in message.function.iter_mut().zip(1..) {
            ids.insert(function.id, id);
            function.id = id;
            functions.insert((function.name, function.system_name, function.filename), id);
        }
        for line in message.location.iter_mut().flat_map(|it| &mut it.line) {
            line.function_id = ids.get(&line.function_id).copied().unwrap_or(0);
        }
        Self {
            message,
            strings,
            functions,
        }
    }

    fn locate(&mut self, location: usize, frames: &[Frame]) {
        self.message.location[location].line = frames
            .iter()
            .map(|frame| proto::Line {
                function_id: self.function(frame),
                line: i64::from(frame.line),
                column: i64::from(frame.column),
            })
            .collect();
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (
            self.string(&shown(frame)),
            self.string(&frame.system_name),
            self.string(frame.file.as_deref().unwrap_or("")),
        );
        let next = self.message.function.len() as u64 + 1;
        let id = *self.functions.entry(key).or_insert(next);
        if id == next {
            self.message.function.push(proto::Function {
                id,
                name: key.0,
                system_name: key.1,
                filename: key.2,
                start_line: 0,
            });
        }
        id
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.strings.get(text) {
            return number;
        }
        let number = self.message.string_table.len() as i64;
        self.message.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }
}

/// Where debug information has nothing but line tables, closures and async functions
/// are all called alike. What file they are in tells them apart.
fn shown(frame: &Frame) -> Cow<'_, str> {
    match &frame.file {
        Some(file) if frame.name.starts_with('{') => {
            let start = file
                .rmatch_indices('/')
                .nth(1)
                .map_or(0, |(place, _)| place + 1);
            format!("{} ({})", frame.name, &file[start..]).into()
        }
        _ => Cow::Borrowed(&frame.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_are_told_apart_by_their_files() {
        let called = |name: &str, file: Option<&str>| {
            let frame = Frame {
                name: name.to_owned(),
                system_name: name.to_owned(),
                file: file.map(str::to_owned),
                line: 1,
                column: 0,
            };
            shown(&frame).into_owned()
        };
        assert_eq!(
            called("{closure#0}", Some("/srv/app/src/shared/library.rs")),
            "{closure#0} (shared/library.rs)"
        );
        assert_eq!(
            called("{closure#0}", Some("main.rs")),
            "{closure#0} (main.rs)"
        );
        assert_eq!(called("{closure#0}", None), "{closure#0}");
        assert_eq!(called("fold", Some("a/b.rs")), "fold");
    }
}
