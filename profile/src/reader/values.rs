//! Which of a sample's values is meant.

use crate::error::{Error, Result};
use crate::profile::Profile;

/// What a value measures, and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueKind {
    /// What is measured, such as `cpu`.
    pub name: String,
    /// The unit, such as `nanoseconds`.
    pub unit: String,
}

impl ValueKind {
    /// What the profile wants to be shown first; if it does not say so, the last one, as
    /// other readers do. `None` if it has no sample types.
    #[must_use]
    pub fn default_of(profile: &Profile) -> Option<Self> {
        let wanted = profile.text(profile.tables().default_sample_type);
        let wanted = profile.sample_types().find(|(name, _)| *name == wanted);
        let (name, unit) = wanted.or_else(|| profile.sample_types().last())?;
        Some(Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
        })
    }

    /// The sample type of a profile that has this name.
    ///
    /// # Errors
    ///
    /// Lists what there is if the profile has none of that name.
    pub fn named(name: &str, profile: &Profile) -> Result<Self> {
        let found = profile.sample_types().find(|(it, _)| *it == name);
        let (name, unit) = found.ok_or_else(|| missing(name, profile))?;
        Ok(Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
        })
    }

    /// Where this kind of value is among those of the profile's samples.
    ///
    /// # Errors
    ///
    /// Lists what there is if the profile has no such sample type, or has it in
    /// another unit.
    pub fn place_in(&self, profile: &Profile) -> Result<usize> {
        let place = profile
            .sample_types()
            .position(|(name, _)| name == self.name)
            .ok_or_else(|| missing(&self.name, profile))?;
        let unit = profile.sample_types().nth(place).map_or("", |(_, it)| it);
        if unit != self.unit {
            return Err(Error::malformed(format!(
                "{} is counted in {unit:?}, and in {:?} elsewhere",
                self.name, self.unit
            )));
        }
        Ok(place)
    }
}

fn missing(name: &str, profile: &Profile) -> Error {
    let all: Vec<&str> = profile.sample_types().map(|(name, _)| name).collect();
    Error::malformed(format!(
        "there is no sample type {name:?}; there is {}",
        all.join(", ")
    ))
}
