//! Several profiles added up into one.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::proto;
use crate::samples::Samples;
use crate::strings::Strings;

/// Adds up profiles, one at a time. Samples with equal stacks and labels become one,
/// wherever the program was loaded; what nothing refers to is left out.
///
/// The result is that of `go tool pprof -proto` on the same files, but for ids and
/// order: the duration is the sum, the start the earliest, the period the largest.
///
/// ```
/// use tachograph_profile::reader::Merger;
/// # use tachograph_profile::{Profile, proto};
/// # let profile = Profile::from_message(proto::Profile {
/// #     sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }],
/// #     sample: vec![proto::Sample { value: vec![7], ..Default::default() }],
/// #     string_table: vec!["".into(), "samples".into(), "count".into()],
/// #     ..Default::default()
/// # })?;
///
/// let mut merger = Merger::default();
/// merger.add(&profile)?;
/// merger.add(&profile)?;
/// let merged = merger.finish().expect("two were added");
/// assert_eq!(merged.total("samples"), Some(14));
/// assert_eq!(merged.samples().len(), 1);
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Merger {
    merged: Option<Merged>,
}

#[derive(Debug)]
struct Merged {
    message: proto::Profile,
    samples: Samples,
    strings: Strings,
    comments: HashSet<i64>,
    mappings: HashMap<MappingKey, usize>,
    functions: HashMap<(i64, i64, i64, i64), u64>,
    /// By what they are: the places.
    locations: HashMap<LocationKey, usize>,
    /// The numbers of the samples by stack and labels, of which nothing is held twice.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Equal in all runs of a program. Sizes are rounded to pages, as loaders differ in
/// what they call the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MappingKey {
    size: u64,
    file_offset: u64,
    build_id_or_file: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LocationKey {
    mapping_id: u64,
    /// From the start of the mapping.
    address: u64,
    line: Vec<proto::Line>,
    is_folded: bool,
}

/// The numbers that one profile's parts have in the merged one.
struct Translation<'a> {
    profile: &'a Profile,
    strings: Vec<Option<i64>>,
    mappings: Vec<Option<usize>>,
    functions: Vec<Option<u64>>,
    locations: Vec<Option<usize>>,
}

impl Merger {
    /// Adds a profile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if its sample types or its
    /// period type are not those of the profiles before it; nothing of it is added then.
    pub fn add(&mut self, profile: &Profile) -> Result<()> {
        let merged = self.merged.get_or_insert_with(|| Merged::like(profile));
        merged.is_addable(profile)?;
        merged.add(profile);
        Ok(())
    }

    /// The sum; `None` if nothing was added.
    ///
    /// # Panics
    ///
    /// Never: what was added was checked.
    #[must_use]
    pub fn finish(self) -> Option<Profile> {
        let mut merged = self.merged?;
        // What cancelled out is gone, and with it what only it referred to.
        if (0..merged.samples.len()).any(|it| is_zero(merged.samples.values(it))) {
            let profile = merged.into_profile();
            merged = Merged::like(&profile);
            merged.add(&profile);
        }
        Some(merged.into_profile())
    }
}

impl Merged {
    fn like(profile: &Profile) -> Self {
        let from = profile.tables();
        let mut strings = Strings::new();
        let mut value_type = |it: &proto::ValueType| proto::ValueType {
            r#type: strings.number(profile.text(it.r#type)),
            unit: strings.number(profile.text(it.unit)),
        };
        let message = proto::Profile {
            sample_type: from.sample_type.iter().map(&mut value_type).collect(),
            period_type: from.period_type.as_ref().map(&mut value_type),
            drop_frames: strings.number(profile.text(from.drop_frames)),
            keep_frames: strings.number(profile.text(from.keep_frames)),
            ..Default::default()
        };
        Self {
            samples: Samples::new(message.sample_type.len()),
            message,
            strings,
            comments: HashSet::new(),
            mappings: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    fn is_addable(&self, profile: &Profile) -> Result<()> {
        let own = |it: &proto::ValueType| {
            let text = |number: i64| self.strings.text(number).to_owned();
            (text(it.r#type), text(it.unit))
        };
        let its = |it: &proto::ValueType| {
            let text = |number: i64| profile.text(number).to_owned();
            (text(it.r#type), text(it.unit))
        };
        let message = profile.tables();
        let expected: Vec<_> = self.message.sample_type.iter().map(own).collect();
        let found: Vec<_> = message.sample_type.iter().map(its).collect();
        let named = |types: &[(String, String)]| {
            let types = types.iter().map(|(name, unit)| format!("{name}/{unit}"));
            types.collect::<Vec<_>>().join(", ")
        };
        if expected != found {
            return Err(Error::malformed(format!(
                "its sample types are {}, and {} in the profiles before it",
                named(&found),
                named(&expected)
            )));
        }
        let expected = self.message.period_type.as_ref().map(own);
        let found = message.period_type.as_ref().map(its);
        if expected.clone().unwrap_or_default() != found.clone().unwrap_or_default() {
            return Err(Error::malformed(format!(
                "its period type is {}, and {} in the profiles before it",
                named(found.as_slice()),
                named(expected.as_slice())
            )));
        }
        Ok(())
    }

    fn add(&mut self, profile: &Profile) {
        self.add_header(profile);
        let message = profile.tables();
        let mut translation = Translation {
            profile,
            strings: vec![None; message.string_table.len()],
            mappings: vec![None; message.mapping.len()],
            functions: vec![None; message.function.len()],
            locations: vec![None; message.location.len()],
        };
        // The first mapping stands for the main binary, referred to or not.
        if self.message.mapping.is_empty() && !message.mapping.is_empty() {
            self.mapping(&mut translation, 0);
        }
        for number in 0..profile.columns().len() {
            if !is_zero(profile.columns().values(number)) {
                self.sample(&mut translation, number);
            }
        }
    }

    fn into_profile(mut self) -> Profile {
        self.message.string_table = self.strings.into_table();
        Profile::from_parts(self.message, self.samples).expect("made coherent")
    }

    fn add_header(&mut self, profile: &Profile) {
        let from = profile.tables();
        let into = &mut self.message;
        if into.time_nanos == 0 || from.time_nanos < into.time_nanos {
            into.time_nanos = from.time_nanos;
        }
        into.duration_nanos = into.duration_nanos.saturating_add(from.duration_nanos);
        if into.period == 0 || into.period < from.period {
            into.period = from.period;
        }
        for &comment in &from.comment {
            let comment = self.strings.number(profile.text(comment));
            if self.comments.insert(comment) {
                into.comment.push(comment);
            }
        }
        if into.default_sample_type == 0 {
            let text = profile.text(from.default_sample_type);
            into.default_sample_type = self.strings.number(text);
        }
        if into.doc_url == 0 {
            into.doc_url = self.strings.number(profile.text(from.doc_url));
        }
    }

    fn sample(&mut self, translation: &mut Translation<'_>, number: usize) {
        let samples = translation.profile.columns();
        for &place in samples.places(number) {
            let place = self.location(translation, place as usize);
            self.samples.add_place(place);
        }
        let mut labels: Vec<proto::Label> = samples
            .labels(number)
            .iter()
            // A label without text, number and unit says nothing.
            .filter(|it| it.str != 0 || it.num != 0 || it.num_unit != 0)
            .map(|it| proto::Label {
                key: self.string(translation, it.key),
                str: self.string(translation, it.str),
                num: if it.str == 0 { it.num } else { 0 },
                num_unit: match it.str {
                    0 => self.string(translation, it.num_unit),
                    _ => 0,
                },
            })
            .collect();
        // Of one key the order counts, among keys it does not.
        labels.sort_by_key(|it| (it.key, it.str == 0));
        labels.into_iter().for_each(|it| self.samples.add_label(it));

        let values = samples.values(number);
        let samples = &mut self.samples;
        let hash = self.hasher.hash_one(samples.pending());
        let is_same = |&it: &u32| samples.key(it as usize) == samples.pending();
        if let Some(&same) = self.numbers.find(hash, is_same) {
            samples.take_back();
            for (sum, value) in samples.values_mut(same as usize).iter_mut().zip(values) {
                *sum = sum.saturating_add(*value);
            }
            return;
        }
        let next = u32::try_from(samples.len()).expect("under 2^32 samples");
        values.iter().for_each(|&it| samples.add_value(it));
        samples.end().expect("as many values as the profile has");
        let hash_of = |&it: &u32| self.hasher.hash_one(samples.key(it as usize));
        self.numbers.insert_unique(hash, next, hash_of);
    }

    /// The place of a location in the merged message.
    fn location(&mut self, translation: &mut Translation<'_>, place: usize) -> usize {
        let profile = translation.profile;
        if let Some(place) = translation.locations[place] {
            return place;
        }
        let from = &profile.tables().location[place];
        let mut line = Vec::with_capacity(from.line.len());
        for it in &from.line {
            line.push(proto::Line {
                function_id: self.function(translation, it.function_id),
                ..*it
            });
        }
        let mut key = LocationKey {
            mapping_id: 0,
            address: from.address,
            line,
            is_folded: from.is_folded,
        };
        let mut start = 0;
        if let Some(mapping) = profile.index().mappings.place(from.mapping_id) {
            let into = self.mapping(translation, mapping);
            let into = &self.message.mapping[into];
            key.mapping_id = into.id;
            key.address = from
                .address
                .wrapping_sub(profile.tables().mapping[mapping].memory_start);
            start = into.memory_start;
        }
        let into = match self.locations.get(&key) {
            Some(&into) => into,
            None => {
                let into = self.message.location.len();
                self.message.location.push(proto::Location {
                    id: into as u64 + 1,
                    mapping_id: key.mapping_id,
                    address: key.address.wrapping_add(start),
                    line: key.line.clone(),
                    is_folded: key.is_folded,
                });
                self.locations.insert(key, into);
                into
            }
        };
        translation.locations[place] = Some(into);
        into
    }

    /// The place of a mapping in the merged message.
    fn mapping(&mut self, translation: &mut Translation<'_>, place: usize) -> usize {
        const PAGE: u64 = 0x1000;
        if let Some(place) = translation.mappings[place] {
            return place;
        }
        let from = &translation.profile.tables().mapping[place];
        let filename = self.string(translation, from.filename);
        let build_id = self.string(translation, from.build_id);
        let size = from.memory_limit.wrapping_sub(from.memory_start);
        let size = size.wrapping_add(PAGE - 1);
        let key = MappingKey {
            size: size - size % PAGE,
            file_offset: from.file_offset,
            build_id_or_file: if build_id == 0 { filename } else { build_id },
        };
        let next = self.message.mapping.len();
        let into = *self.mappings.entry(key).or_insert(next);
        if into == next {
            self.message.mapping.push(proto::Mapping {
                id: next as u64 + 1,
                filename,
                build_id,
                ..*from
            });
        }
        translation.mappings[place] = Some(into);
        into
    }

    fn function(&mut self, translation: &mut Translation<'_>, id: u64) -> u64 {
        let Some(place) = translation.profile.index().functions.place(id) else {
            return 0;
        };
        if let Some(id) = translation.functions[place] {
            return id;
        }
        let from = translation.profile.tables().function[place];
        let key = (
            self.string(translation, from.name),
            self.string(translation, from.system_name),
            self.string(translation, from.filename),
            from.start_line,
        );
        let next = self.message.function.len() as u64 + 1;
        let id = *self.functions.entry(key).or_insert(next);
        if id == next {
            self.message.function.push(proto::Function {
                id,
                name: key.0,
                system_name: key.1,
                filename: key.2,
                start_line: key.3,
            });
        }
        translation.functions[place] = Some(id);
        id
    }

    fn string(&mut self, translation: &mut Translation<'_>, number: i64) -> i64 {
        let place = number as usize;
        *translation.strings[place]
            .get_or_insert_with(|| self.strings.number(translation.profile.text(number)))
    }
}

fn is_zero(values: &[i64]) -> bool {
    values.iter().all(|&value| value == 0)
}
