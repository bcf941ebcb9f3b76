//! Reading what a profile says, without its numbers and ids.

use std::collections::BTreeMap;
#[cfg(feature = "reader")]
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crate::profile::Profile;
use crate::proto;

impl Profile {
    /// The samples, in the order of the profile.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = SampleView<'_>> {
        (0..self.columns().len()).map(|number| SampleView {
            profile: self,
            number,
        })
    }

    /// The mappings, in the order of the profile: that of the main binary first.
    pub fn mappings(&self) -> impl ExactSizeIterator<Item = MappingView<'_>> {
        self.tables().mapping.iter().map(|mapping| MappingView {
            profile: self,
            mapping,
        })
    }

    /// What the values measure, each with its unit: `("samples", "count")`.
    pub fn sample_types(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.tables()
            .sample_type
            .iter()
            .map(|it| (self.text(it.r#type), self.text(it.unit)))
    }

    /// The sum over all samples of the values of `sample_type`, such as `cpu`, in the
    /// unit of that type; `None` if the profile has no such type.
    #[must_use]
    pub fn total(&self, sample_type: &str) -> Option<i64> {
        let place = self.value_place(sample_type)?;
        let values = self.samples().map(|sample| sample.values()[place]);
        Some(values.fold(0, i64::saturating_add))
    }

    /// The sums of the values of `sample_type` by the text of the label `key`;
    /// samples without that label under `None`. Empty if the profile has no such
    /// sample type.
    #[must_use]
    pub fn by_label(&self, key: &str, sample_type: &str) -> BTreeMap<Option<String>, i64> {
        let mut sums = BTreeMap::new();
        let Some(place) = self.value_place(sample_type) else {
            return sums;
        };
        for sample in self.samples() {
            let sum: &mut i64 = sums
                .entry(sample.label(key).map(str::to_owned))
                .or_default();
            *sum = sum.saturating_add(sample.values()[place]);
        }
        sums
    }

    /// The texts of the label `key` that samples have, each as often as samples that
    /// follow each other do not agree.
    #[cfg(feature = "reader")]
    pub fn label_texts(&self, key: &str) -> impl Iterator<Item = &str> {
        let mut before = None;
        self.samples().filter_map(move |sample| {
            let text = sample.label(key)?;
            (before.replace(text) != Some(text)).then_some(text)
        })
    }

    /// The keys of the labels with texts that samples have, each once.
    #[cfg(feature = "reader")]
    #[must_use]
    pub fn label_keys(&self) -> BTreeSet<&str> {
        let labels = (0..self.columns().len()).flat_map(|it| self.columns().labels(it));
        let keys: BTreeSet<i64> = labels.filter(|it| it.str != 0).map(|it| it.key).collect();
        keys.into_iter().map(|key| self.text(key)).collect()
    }

    /// When collection began; `None` if the profile does not say.
    #[must_use]
    pub fn started_at(&self) -> Option<SystemTime> {
        let nanos = self.tables().time_nanos;
        let distance = Duration::from_nanos(nanos.unsigned_abs());
        match nanos {
            0 => None,
            1.. => SystemTime::UNIX_EPOCH.checked_add(distance),
            _ => SystemTime::UNIX_EPOCH.checked_sub(distance),
        }
    }

    /// How long collection took; zero if the profile does not say.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.tables().duration_nanos.try_into().unwrap_or(0))
    }

    /// The comments, such as which modules gave no names.
    pub fn comments(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tables().comment.iter().map(|&it| self.text(it))
    }

    fn value_place(&self, sample_type: &str) -> Option<usize> {
        self.sample_types()
            .position(|(name, _)| name == sample_type)
    }
}

/// One sample of a [`Profile`].
#[derive(Clone, Copy, Debug)]
pub struct SampleView<'a> {
    profile: &'a Profile,
    number: usize,
}

impl<'a> SampleView<'a> {
    /// The names of the functions on the stack, leaf first, inlined ones included.
    pub fn stack(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.frames().map(|frame| frame.function())
    }

    /// The frames of the stack, leaf first, inlined ones included.
    pub fn frames(&self) -> impl Iterator<Item = FrameView<'a>> + use<'a> {
        let profile = self.profile;
        self.locations().flat_map(move |place| {
            let location = &profile.tables().location[place];
            location.line.iter().map(move |line| FrameView {
                profile,
                location,
                line,
                function: &profile.tables().function
                    [profile.index().functions.at(line.function_id)],
            })
        })
    }

    /// Where the locations of the stack are in their list, leaf first.
    pub(crate) fn locations(&self) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
        let places = self.profile.columns().places(self.number);
        places.iter().map(|&place| place as usize)
    }

    /// The values, one for each sample type.
    #[must_use]
    pub fn values(&self) -> &'a [i64] {
        self.profile.columns().values(self.number)
    }

    /// The text of the label `key`; `None` if the sample has no such label, or one
    /// that is a number.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'a str> {
        let labels = self.profile.columns().labels(self.number);
        labels
            .iter()
            .find(|label| label.str != 0 && self.profile.text(label.key) == key)
            .map(|label| self.profile.text(label.str))
    }

    /// The value of `sample_type`, such as `samples`, in the unit of that type; `None`
    /// if the profile has no such type.
    #[must_use]
    pub fn value(&self, sample_type: &str) -> Option<i64> {
        Some(self.values()[self.profile.value_place(sample_type)?])
    }
}

/// One function of a stack.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    profile: &'a Profile,
    location: &'a proto::Location,
    line: &'a proto::Line,
    function: &'a proto::Function,
}

impl<'a> FrameView<'a> {
    /// The function's name, for people.
    #[must_use]
    pub fn function(&self) -> &'a str {
        self.profile.text(self.function.name)
    }

    /// The function's name, for the linker.
    #[must_use]
    pub fn system_name(&self) -> &'a str {
        self.profile.text(self.function.system_name)
    }

    /// The source file, if known.
    #[must_use]
    pub fn file(&self) -> Option<&'a str> {
        known(self.profile.text(self.function.filename))
    }

    /// The line in the source file, from 1, if known.
    #[must_use]
    pub fn line(&self) -> Option<i64> {
        (self.line.line > 0).then_some(self.line.line)
    }

    /// The address, as in the process; for a caller, one inside its call instruction.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.location.address
    }

    /// The mapping that the address lies in, if it lies in one.
    #[must_use]
    pub fn mapping(&self) -> Option<MappingView<'a>> {
        let place = self
            .profile
            .index()
            .mappings
            .place(self.location.mapping_id)?;
        Some(MappingView {
            profile: self.profile,
            mapping: &self.profile.tables().mapping[place],
        })
    }
}

/// One mapping of a [`Profile`].
#[derive(Clone, Copy, Debug)]
pub struct MappingView<'a> {
    profile: &'a Profile,
    mapping: &'a proto::Mapping,
}

impl<'a> MappingView<'a> {
    /// The path of the mapped file.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.profile.text(self.mapping.filename)
    }

    /// What identifies the build of the mapped file, if it has that.
    #[must_use]
    pub fn build_id(&self) -> Option<&'a str> {
        known(self.profile.text(self.mapping.build_id))
    }

    /// The addresses and what is known of them, as the format has it.
    #[must_use]
    pub fn message(&self) -> &'a proto::Mapping {
        self.mapping
    }
}

pub(crate) fn known(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
