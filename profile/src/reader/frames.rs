//! Frames of many profiles under one set of numbers.

use std::hash::BuildHasher as _;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};
use rustc_hash::FxHashMap;

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

/// A function, or a line in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The function's name, for people; empty if it is not known.
    pub name: String,
    /// The source file; empty if it is not known or not asked for.
    pub file: String,
    /// The line in the source file; 0 if it is not known or not asked for.
    pub line: i64,
    /// The path of the mapped file; given only where there is no name.
    pub module: String,
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
/// let names: Vec<&str> = stacks.of(&sample).map(|it| frames.get(it).name.as_str()).collect();
/// assert_eq!(names, ["demo+0x1234", "demo+0x1100"]);
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameSet {
    granularity: Granularity,
    frames: Vec<Frame>,
    /// The numbers of the frames, by what they are.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// A frame whose texts are somewhere else.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FrameRef<'a> {
    name: &'a str,
    file: &'a str,
    line: i64,
    module: &'a str,
}

impl Frame {
    fn as_ref(&self) -> FrameRef<'_> {
        FrameRef {
            name: &self.name,
            file: &self.file,
            line: self.line,
            module: &self.module,
        }
    }
}

impl FrameRef<'_> {
    fn to_frame(self) -> Frame {
        Frame {
            name: self.name.to_owned(),
            file: self.file.to_owned(),
            line: self.line,
            module: self.module.to_owned(),
        }
    }
}

impl FrameSet {
    /// An empty set.
    #[must_use]
    pub fn new(granularity: Granularity) -> Self {
        Self {
            granularity,
            frames: Vec::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
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
        let mut known = FxHashMap::default();
        for location in &message.location {
            for line in &location.line {
                let function = profile.index().functions.place(line.function_id);
                if function.map_or(keeps_unknown, |place| kept[place]) {
                    let number = self.line(profile, &mut known, location, function, line.line);
                    stacks.frames.push(number);
                }
            }
            if location.line.is_empty() && keeps_unknown {
                stacks.frames.push(self.unknown(profile, location, 0));
            }
            stacks.ends.push(stacks.frames.len());
        }
        stacks.are_followed(profile)?;
        Ok(stacks)
    }

    /// The number of the frame of a line. `known` has those of this profile, by place
    /// of the function and line.
    fn line(
        &mut self,
        profile: &Profile,
        known: &mut FxHashMap<(usize, i64), u32>,
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
            return self.unknown(profile, location, line);
        };
        if let Some(&number) = known.get(&(place, line)) {
            return number;
        }
        let function = &profile.tables().function[place];
        let file = match self.granularity {
            Granularity::Functions => String::new(),
            Granularity::Lines => clean(profile.text(function.filename)),
        };
        let number = self.number_of(FrameRef {
            name: profile.text(function.name),
            file: &file,
            line,
            module: "",
        });
        known.insert((place, line), number);
        number
    }

    /// The number of a frame without a name.
    fn unknown(&mut self, profile: &Profile, location: &proto::Location, line: i64) -> u32 {
        let mapping = profile.index().mappings.place(location.mapping_id);
        let mapping = mapping.map(|place| &profile.tables().mapping[place]);
        self.number_of(FrameRef {
            name: "",
            file: "",
            line,
            module: mapping.map_or("", |it| profile.text(it.filename)),
        })
    }

    /// The number of `frame`, the next free one if it is new.
    pub fn number(&mut self, frame: &Frame) -> u32 {
        self.number_of(frame.as_ref())
    }

    fn number_of(&mut self, frame: FrameRef<'_>) -> u32 {
        let frames = &mut self.frames;
        let hash = self.hasher.hash_one(frame);
        let is_same = |&it: &u32| frames[it as usize].as_ref() == frame;
        if let Some(&number) = self.numbers.find(hash, is_same) {
            return number;
        }
        let number = u32::try_from(frames.len()).expect("under 2^32 different frames");
        frames.push(frame.to_frame());
        let hash_of = |&it: &u32| self.hasher.hash_one(frames[it as usize].as_ref());
        self.numbers.insert_unique(hash, number, hash_of);
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
