//! From paths to stacks: what `top`, `tree`, `flame`, `diff` and `convert` have in common.

use std::path::PathBuf;

use regex::Regex;
use tachograph_profile::reader::{Frame, FrameSet, Granularity, Selection, ValueKind};
use tachograph_profile::{Profile, SampleView};

use crate::app;
use crate::args::Looking;
use crate::asked::Asked;
use crate::binaries::Binaries;
use crate::error::Result;
use crate::input;
use crate::output::Output;

/// Stands for a stack of nothing but frames that were left out.
const LEFT_OUT: &str = "(runtime and libraries)";

/// Reads profiles, and numbers the frames of all of them alike.
pub(crate) struct Reader<'a> {
    looking: &'a Looking,
    selection: Selection,
    binaries: Binaries,
    pub(crate) frames: FrameSet,
    kind: Option<ValueKind>,
    /// The label that samples are told apart by, if any.
    by: Option<&'a str>,
}

/// What was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) profiles: usize,
    /// The time they were taken for together; 0 if they do not say.
    pub(crate) seconds: f64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        looking: &'a Looking,
        by: Option<&'a str>,
        binaries: Binaries,
        granularity: Granularity,
    ) -> Self {
        Self {
            by,
            looking,
            selection: looking.selection(),
            binaries,
            frames: FrameSet::new(granularity),
            kind: None,
        }
    }

    /// What the values are, once a profile was read.
    pub(crate) fn kind(&self) -> (&str, &str) {
        let kind = self.kind.as_ref();
        kind.map_or(("", ""), |kind| (&kind.name, &kind.unit))
    }

    /// Hands each sample that is looked at to `each`, with its stack, leaf first, and
    /// its value.
    pub(crate) fn read(
        &mut self,
        paths: &[PathBuf],
        output: &mut Output,
        mut each: impl FnMut(
            &mut FrameSet,
            &SampleView<'_>,
            &[u32],
            i64,
        ) -> std::result::Result<(), String>,
    ) -> Result<Extent> {
        let mut seconds = 0.0;
        let mut asked = Asked::of(self.looking, self.by);
        let profiles = input::for_each_profile(paths, output, |_, profile| {
            seconds += profile.duration().as_secs_f64();
            asked.look_at(&profile);
            self.read_one(profile, &mut each)
        })?;
        asked.complain(output);
        Ok(Extent { profiles, seconds })
    }

    fn read_one(
        &mut self,
        profile: Profile,
        each: &mut impl FnMut(
            &mut FrameSet,
            &SampleView<'_>,
            &[u32],
            i64,
        ) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let place = self.value_place(&profile)?;
        let profile = pruned(self.binaries.symbolized(profile));
        let is_app_alone = self.looking.app;
        let stacks = self
            .frames
            .take_in(&profile, |name, file| {
                !is_app_alone || app::is_app(name, file)
            })
            .map_err(|it| format!("{it:#}"))?;
        let is_chosen = self.selection.of(&profile);
        let mut stack = Vec::new();
        for sample in profile.samples().filter(|it| is_chosen(it)) {
            stacks.fill(&sample, &mut stack);
            if stack.is_empty() && self.looking.app {
                stack.push(self.frames.number(&label_frame(LEFT_OUT.to_owned())));
            }
            each(&mut self.frames, &sample, &stack, sample.values()[place])?;
        }
        Ok(())
    }

    /// Where the values asked for are in the samples of `profile`: those of the sample
    /// type that was named, or of the one that the first profile wants to be shown.
    fn value_place(&mut self, profile: &Profile) -> std::result::Result<usize, String> {
        let own = match &self.looking.value {
            Some(name) => ValueKind::named(name, profile).map_err(|it| format!("{it:#}"))?,
            None => ValueKind::default_of(profile).ok_or("the profile has no sample types")?,
        };
        let kind = self.kind.get_or_insert(own);
        kind.place_in(profile).map_err(|it| format!("{it:#}"))
    }
}

/// The frame that stands for the samples with a label, or for those without it.
pub(crate) fn label_frame(name: String) -> Frame {
    Frame {
        name: name.into(),
        file: "".into(),
        line: 0,
        module: "".into(),
    }
}

/// The number of the frame that stands for what `key` says of a sample, if it is asked for.
pub(crate) fn label_number(
    frames: &mut FrameSet,
    key: Option<&str>,
    sample: &SampleView<'_>,
) -> Option<u32> {
    Some(frames.number(&label_frame(label_name(key?, sample))))
}

/// `task compaction`, or `(no task)`.
pub(crate) fn label_name(key: &str, sample: &SampleView<'_>) -> String {
    match sample.label(key) {
        Some(text) => format!("{key} {text}"),
        None => format!("(no {key})"),
    }
}

/// The profile without the leaves that its writer wants out of sight. A pattern that is
/// none drops nothing, as with other readers.
pub(crate) fn pruned(profile: Profile) -> Profile {
    let Some((drop, keep)) = profile.drop_patterns() else {
        return profile;
    };
    let whole = |pattern: &str| Regex::new(&format!("^(?:{pattern})$"));
    let Ok(drop) = whole(drop) else {
        return profile;
    };
    let Ok(keep) = keep.map(whole).transpose() else {
        return profile;
    };
    profile.pruned(|name| {
        let name = without_arguments(name);
        drop.is_match(name) && !keep.as_ref().is_some_and(|it| it.is_match(name))
    })
}

/// The name of a C++ function up to its arguments.
fn without_arguments(name: &str) -> &str {
    const PART_OF_NAMES: [&str; 2] = ["(anonymous namespace)", "operator()"];
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut from = 0;
    while let Some(place) = name[from..].find(['(', 'o']).map(|it| it + from) {
        let rest = &name[place..];
        match PART_OF_NAMES.iter().find(|it| rest.starts_with(**it)) {
            Some(part) => from = place + part.len(),
            None if rest.starts_with('(') => return &name[..place],
            None => from = place + 1,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_begin_at_the_first_bracket_that_is_not_part_of_the_name() {
        for (name, bare) in [
            ("malloc", "malloc"),
            ("operator new(unsigned long)", "operator new"),
            ("Foo::operator()(int)", "Foo::operator()"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            (".compressed(x)", "compressed"),
        ] {
            assert_eq!(without_arguments(name), bare);
        }
    }
}
