//! Whether a message's references lead somewhere.

use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::profile::Index;
use crate::proto;
use crate::samples::Samples;

/// Checks what [`crate::Profile`] promises of all but the samples, and returns where each
/// id is.
pub(crate) fn coherent(profile: &proto::Profile) -> Result<Index> {
    let strings = Strings::of(profile)?;
    if profile.sample_type.is_empty() {
        return Err(Error::malformed(
            "the profile has no sample types; it needs at least one",
        ));
    }
    for value_type in profile.sample_type.iter().chain(&profile.period_type) {
        strings.has(value_type.r#type, "a value type")?;
        strings.has(value_type.unit, "the unit of a value type")?;
    }
    strings.has(profile.drop_frames, "drop_frames")?;
    strings.has(profile.keep_frames, "keep_frames")?;
    strings.has(profile.default_sample_type, "default_sample_type")?;
    strings.has(profile.doc_url, "doc_url")?;
    for &comment in &profile.comment {
        strings.has(comment, "a comment")?;
    }

    let mappings = Ids::of("mapping", profile.mapping.iter().map(|it| it.id))?;
    for mapping in &profile.mapping {
        strings.has(mapping.filename, "the file name of a mapping")?;
        strings.has(mapping.build_id, "the build id of a mapping")?;
    }
    let functions = Ids::of("function", profile.function.iter().map(|it| it.id))?;
    for function in &profile.function {
        strings.has(function.name, "the name of a function")?;
        strings.has(function.system_name, "the system name of a function")?;
        strings.has(function.filename, "the file name of a function")?;
    }
    let locations = Ids::of("location", profile.location.iter().map(|it| it.id))?;
    for location in &profile.location {
        if location.mapping_id != 0 {
            defined(
                &mappings,
                "mapping",
                location.mapping_id,
                "location",
                location.id,
            )?;
        }
        for line in &location.line {
            defined(
                &functions,
                "function",
                line.function_id,
                "location",
                location.id,
            )?;
        }
    }
    Ok(Index {
        mappings,
        locations,
        functions,
    })
}

/// Adds samples, if what they refer to is there.
pub(crate) struct SampleCheck<'a> {
    strings: Strings,
    locations: &'a Ids,
}

impl<'a> SampleCheck<'a> {
    /// For samples of a message that is coherent.
    pub(crate) fn new(tables: &proto::Profile, index: &'a Index) -> Self {
        Self {
            strings: Strings {
                len: tables.string_table.len(),
            },
            locations: &index.locations,
        }
    }

    #[inline]
    pub(crate) fn add_location(&self, id: u64, samples: &mut Samples) -> Result<()> {
        let Some(place) = self.locations.place(id) else {
            return Err(undefined("location", id, "sample", samples.len() as u64));
        };
        samples.add_place(place);
        Ok(())
    }

    pub(crate) fn add_label(&self, label: proto::Label, samples: &mut Samples) -> Result<()> {
        self.strings.has(label.key, "the key of a label")?;
        self.strings.has(label.str, "the text of a label")?;
        self.strings.has(label.num_unit, "the unit of a label")?;
        samples.add_label(label);
        Ok(())
    }

    /// Makes a sample of what was added.
    pub(crate) fn end(&self, samples: &mut Samples) -> Result<()> {
        let number = samples.len();
        let types = samples.types();
        samples.end().map_err(|values| {
            Error::malformed(format!(
                "sample {number} has {values} values; with {types} sample types it needs as many",
            ))
        })
    }

    /// Adds a sample out of a message.
    pub(crate) fn add(&self, sample: &proto::Sample, samples: &mut Samples) -> Result<()> {
        for &id in &sample.location_id {
            self.add_location(id, samples)?;
        }
        for &value in &sample.value {
            samples.add_value(value);
        }
        for &label in &sample.label {
            self.add_label(label, samples)?;
        }
        self.end(samples)
    }
}

struct Strings {
    len: usize,
}

impl Strings {
    fn of(profile: &proto::Profile) -> Result<Self> {
        match profile.string_table.first() {
            Some(first) if first.is_empty() => Ok(Self {
                len: profile.string_table.len(),
            }),
            Some(_) => Err(Error::malformed(
                "string 0 of the profile has text; the format reserves it for the empty string",
            )),
            None => Err(Error::malformed(
                "the profile has no strings; the format demands at least the empty one",
            )),
        }
    }

    fn has(&self, number: i64, what: &str) -> Result<()> {
        match usize::try_from(number) {
            Ok(number) if number < self.len => Ok(()),
            _ => Err(Error::malformed(format!(
                "{what} refers to string {number}; there are strings 0 to {}",
                self.len - 1,
            ))),
        }
    }
}

fn defined(index: &Ids, what: &str, id: u64, user: &str, number: u64) -> Result<()> {
    if index.place(id).is_some() {
        return Ok(());
    }
    Err(undefined(what, id, user, number))
}

fn undefined(what: &str, id: u64, user: &str, number: u64) -> Error {
    Error::malformed(format!(
        "{user} {number} refers to {what} {id}, which the profile does not define"
    ))
}
