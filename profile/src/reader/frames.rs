//! Frames of many profiles under one set of numbers.

use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::proto;
use crate::view::SampleView;

/// All stacks of a profile have at most so many frames together.
const FRAMES_MAX: u64 = 1 << 30;

/// What counts as one and the same frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// A function, by its name.
    #[default]
    Functions,
    /// A line of a file in a function.
    Lines,
}

/// A function, or a line in one. Equal texts are shared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The function's name, for people; empty if it is not known.
    pub name: Arc<str>,
    /// The source file; empty if it is not known or not asked for.
    pub file: Arc<str>,
    /// The line in the source file; 0 if it is not known or not asked for.
    pub line: i64,
    /// The path of the mapped file; given only where there is no name.
    pub module: Arc<str>,
}

/// Frames that stacks refer to by number, the same in all profiles that were taken in.
///
/// ```
/// use tachograph_profile::reader::{FrameSet, Granularity};
/// # use tachograph_profile::{Labels, LoadedModules, Module, Names, ProfileBuilder, ProfileMeta, Segment};
/// # let text = Segment { start: 0x1000, end: 0x3000, file_offset: 0 };
/// # let modules = LoadedModules::new(Module::new("/bin/demo", 0, [text]).with_file(None), []);
/// # let mut builder = ProfileBuilder::new(ProfileMeta {
/// #     started_at: std::time::SystemTime::UNIX_EPOCH,
/// #     duration: std::time::Duration::from_secs(1),
/// #     frequency_hz: 100,
/// # });
/// # builder.add(&[0x1234, 0x1101], Labels::default(), 2);
/// # let profile = builder.finish(&modules, Names::SymbolTable, None);
///
/// let mut frames = FrameSet::new(Granularity::Functions);
/// let stacks = frames.take_in(&profile, |_, _| true)?;
/// let sample = profile.samples().next().expect("one sample");
/// let names: Vec<&str> = stacks.of(&sample).map(|it| &*frames.get(it).name).collect();
/// assert_eq!(names, ["demo+0x1234", "demo+0x1100"]);
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameSet {
    granularity: Granularity,
    texts: Texts,
    frames: Vec<Frame>,
    /// The numbers of the frames, by what they are.
    numbers: HashMap<Key, u32>,
}

/// What a frame is, by the numbers of its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: u32,
    file: u32,
    line: i64,
    module: u32,
}

/// The number of the empty text.
const NO_TEXT: u32 = 0;

/// Every text once, however many frames have it.
#[derive(Clone, Debug)]
struct Texts {
    texts: Vec<Arc<str>>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Texts {
    fn new() -> Self {
        let mut texts = Self {
            texts: Vec::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        texts.number("");
        texts
    }

    fn number(&mut self, text: &str) -> u32 {
        let texts = &mut self.texts;
        let hash = self.hasher.hash_one(text);
        let is_same = |&it: &u32| &*texts[it as usize] == text;
        if let Some(&number) = self.numbers.find(hash, is_same) {
            return number;
        }
        let number = u32::try_from(texts.len()).expect("under 2^32 different texts");
        texts.push(text.into());
        let hash_of = |&it: &u32| self.hasher.hash_one(&*texts[it as usize]);
        self.numbers.insert_unique(hash, number, hash_of);
        number
    }

    fn get(&self, number: u32) -> Arc<str> {
        Arc::clone(&self.texts[number as usize])
    }
}

/// What was found out about a profile's functions and mappings, by their places.
struct Known {
    functions: Vec<Option<Key>>,
    modules: Vec<Option<u32>>,
}

impl FrameSet {
    /// An empty set.
    #[must_use]
    pub fn new(granularity: Granularity) -> Self {
        Self {
            granularity,
            texts: Texts::new(),
            frames: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Takes in the frames of a profile, and says which its stacks have.
    ///
    /// A location without any function is a frame without a name. `is_kept` is given a
    /// function's name and its source file, and has frames left out of all stacks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if the stacks have more than 2³⁰ frames together: many
    /// locations that each stand for many inlined calls multiply.
    pub fn take_in(
        &mut self,
        profile: &Profile,
        is_kept: impl Fn(&str, &str) -> bool,
    ) -> Result<Stacks> {
        let message = profile.tables();
        // Asked once for each function, however many lines it has.
        let kept: Vec<bool> = message
            .function
            .iter()
            .map(|it| is_kept(profile.text(it.name), profile.text(it.filename)))
            .collect();
        let keeps_unknown = is_kept("", "");
        let mut stacks = Stacks {
            frames: Vec::with_capacity(message.location.len()),
            ends: Vec::with_capacity(message.location.len()),
        };
        let mut known = Known {
            functions: vec![None; message.function.len()],
            modules: vec![None; message.mapping.len()],
        };
        for location in &message.location {
            for line in &location.line {
                let function = profile.index().functions.place(line.function_id);
                if function.map_or(keeps_unknown, |place| kept[place]) {
                    let number = self.line(profile, &mut known, location, function, line.line);
                    stacks.frames.push(number);
                }
            }
            if location.line.is_empty() && keeps_unknown {
                stacks
                    .frames
                    .push(self.unknown(profile, &mut known, location, 0));
            }
            stacks.ends.push(stacks.frames.len());
        }
        stacks.are_followed(profile)?;
        Ok(stacks)
    }

    /// The number of the frame of a line.
    fn line(
        &mut self,
        profile: &Profile,
        known: &mut Known,
        location: &proto::Location,
        function: Option<usize>,
        line: i64,
    ) -> u32 {
        let line = match self.granularity {
            Granularity::Functions => 0,
            Granularity::Lines => line,
        };
        let named = function.filter(|&place| profile.tables().function[place].name != 0);
        let Some(place) = named else {
            return self.unknown(profile, known, location, line);
        };
        let key = *known.functions[place].get_or_insert_with(|| {
            let function = &profile.tables().function[place];
            Key {
                name: self.texts.number(profile.text(function.name)),
                file: match self.granularity {
                    Granularity::Functions => NO_TEXT,
                    Granularity::Lines => {
                        self.texts.number(&clean(profile.text(function.filename)))
                    }
                },
                line: 0,
                module: NO_TEXT,
            }
        });
        self.number_of(Key { line, ..key })
    }

    /// The number of a frame without a name.
    fn unknown(
        &mut self,
        profile: &Profile,
        known: &mut Known,
        location: &proto::Location,
        line: i64,
    ) -> u32 {
        let mapping = profile.index().mappings.place(location.mapping_id);
        let module = mapping.map_or(NO_TEXT, |place| {
            *known.modules[place].get_or_insert_with(|| {
                let mapping = &profile.tables().mapping[place];
                self.texts.number(profile.text(mapping.filename))
            })
        });
        self.number_of(Key {
            name: NO_TEXT,
            file: NO_TEXT,
            line,
            module,
        })
    }

    /// The number of `frame`, the next free one if it is new.
    pub fn number(&mut self, frame: &Frame) -> u32 {
        let key = Key {
            name: self.texts.number(&frame.name),
            file: self.texts.number(&frame.file),
            line: frame.line,
            module: self.texts.number(&frame.module),
        };
        self.number_of(key)
    }

    fn number_of(&mut self, key: Key) -> u32 {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = u32::try_from(self.frames.len()).expect("under 2^32 different frames");
        self.frames.push(Frame {
            name: self.texts.get(key.name),
            file: self.texts.get(key.file),
            line: key.line,
            module: self.texts.get(key.module),
        });
        self.numbers.insert(key, number);
        number
    }

    /// The frame of a number that this set gave out.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[must_use]
    pub fn get(&self, number: u32) -> &Frame {
        &self.frames[number as usize]
    }

    /// How many different frames there are; their numbers are those below.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// The frames of the stacks of one profile, as numbers of a [`FrameSet`].
#[derive(Clone, Debug)]
pub struct Stacks {
    frames: Vec<u32>,
    /// Where the frames of each location end.
    ends: Vec<usize>,
}

impl Stacks {
    /// Fails if the stacks have too many frames together.
    fn are_followed(&self, profile: &Profile) -> Result<()> {
        let places = profile.columns().all_places();
        let longest = (0..self.ends.len()).map(|place| self.span(place).len());
        let at_most = longest.max().unwrap_or(0) as u64 * places.len() as u64;
        if at_most <= FRAMES_MAX {
            return Ok(());
        }
        let lengths = places.iter().map(|&it| self.span(it as usize).len() as u64);
        let frames = lengths.fold(0, u64::saturating_add);
        if frames > FRAMES_MAX {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the stacks have {frames} frames together; {FRAMES_MAX} are followed"),
            ));
        }
        Ok(())
    }

    /// The frames of a sample of that profile, leaf first, inlined ones included.
    pub fn of<'a>(
        &'a self,
        sample: &SampleView<'a>,
    ) -> impl DoubleEndedIterator<Item = u32> + use<'a> {
        sample
            .locations()
            .flat_map(|place| self.frames[self.span(place)].iter().copied())
    }

    /// Puts the frames of a sample of that profile into `stack`, and nothing else.
    pub fn fill(&self, sample: &SampleView<'_>, stack: &mut Vec<u32>) {
        stack.clear();
        for place in sample.locations() {
            match &self.frames[self.span(place)] {
                [frame] => stack.push(*frame),
                frames => stack.extend_from_slice(frames),
            }
        }
    }

    fn span(&self, place: usize) -> Range<usize> {
        let start = match place {
            0 => 0,
            place => self.ends[place - 1],
        };
        start..self.ends[place]
    }
}

/// A path without what does not change where it leads: `./a//b/../c` is `a/c`.
fn clean(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|it| *it != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let relative = parts.join("/");
    match (is_absolute, relative.is_empty()) {
        (true, _) => format!("/{relative}"),
        (false, true) if !path.is_empty() => ".".to_owned(),
        (false, _) => relative,
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_are_cleaned() {
        for (path, expected) in [
            ("", ""),
            ("a/b.rs", "a/b.rs"),
            ("./nptl/pthread_create.c", "nptl/pthread_create.c"),
            ("/a//b/./c.go", "/a/b/c.go"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("./", "."),
        ] {
            assert_eq!(clean(path), expected, "{path}");
        }
    }
}
