//! Frames of many profiles under one set of numbers.

use std::collections::HashMap;
use std::ops::Range;

use crate::profile::Profile;
use crate::view::SampleView;

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
/// let stacks = frames.take_in(&profile);
/// let sample = profile.samples().next().expect("one sample");
/// let names: Vec<&str> = stacks.of(&sample).map(|it| frames.get(it).name.as_str()).collect();
/// assert_eq!(names, ["demo+0x1234", "demo+0x1100"]);
/// ```
#[derive(Clone, Debug)]
pub struct FrameSet {
    granularity: Granularity,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
}

impl FrameSet {
    /// An empty set.
    #[must_use]
    pub fn new(granularity: Granularity) -> Self {
        Self {
            granularity,
            frames: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Takes in the frames of a profile, and says which its stacks have.
    ///
    /// A location without any function is a frame without a name.
    pub fn take_in(&mut self, profile: &Profile) -> Stacks {
        let message = profile.message();
        let mut stacks = Stacks {
            frames: Vec::with_capacity(message.location.len()),
            spans: Vec::with_capacity(message.location.len()),
        };
        for location in &message.location {
            let start = stacks.frames.len();
            let module = || {
                let place = profile.index().mappings.place(location.mapping_id)?;
                Some(profile.text(message.mapping[place].filename).to_owned())
            };
            for line in &location.line {
                let function = profile.index().functions.place(line.function_id);
                let function = function.map(|place| &message.function[place]);
                let name = function.map_or("", |it| profile.text(it.name)).to_owned();
                let lines = self.granularity == Granularity::Lines;
                let frame = Frame {
                    file: match function {
                        Some(function) if lines => profile.text(function.filename).to_owned(),
                        _ => String::new(),
                    },
                    line: if lines { line.line } else { 0 },
                    module: match name.is_empty() {
                        true => module().unwrap_or_default(),
                        false => String::new(),
                    },
                    name,
                };
                stacks.frames.push(self.number(frame));
            }
            if location.line.is_empty() {
                stacks.frames.push(self.number(Frame {
                    name: String::new(),
                    file: String::new(),
                    line: 0,
                    module: module().unwrap_or_default(),
                }));
            }
            stacks.spans.push(start..stacks.frames.len());
        }
        stacks
    }

    /// The number of `frame`, the next free one if it is new.
    pub fn number(&mut self, frame: Frame) -> u32 {
        if let Some(&number) = self.numbers.get(&frame) {
            return number;
        }
        let number = u32::try_from(self.frames.len()).expect("under 2^32 different frames");
        self.numbers.insert(frame.clone(), number);
        self.frames.push(frame);
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
    /// By place of the location.
    spans: Vec<Range<usize>>,
}

impl Stacks {
    /// The frames of a sample of that profile, leaf first, inlined ones included.
    pub fn of<'a>(
        &'a self,
        sample: &SampleView<'a>,
    ) -> impl DoubleEndedIterator<Item = u32> + use<'a> {
        sample
            .locations()
            .flat_map(|place| self.frames[self.spans[place].clone()].iter().copied())
    }

    /// Leaves out the frames that `is_kept` refuses, for all samples.
    pub fn retain(&mut self, mut is_kept: impl FnMut(u32) -> bool) {
        let mut kept = Vec::with_capacity(self.frames.len());
        for span in &mut self.spans {
            let start = kept.len();
            kept.extend(
                self.frames[span.clone()]
                    .iter()
                    .copied()
                    .filter(|&it| is_kept(it)),
            );
            *span = start..kept.len();
        }
        self.frames = kept;
    }
}
