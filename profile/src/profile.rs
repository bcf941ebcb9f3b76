//! A profile whose references are known to lead somewhere.

use crate::check::{self, SampleCheck};
use crate::error::Result;
use crate::ids::Ids;
use crate::proto;
use crate::samples::Samples;

/// A CPU profile, checked: every reference in it, by id or by string number, leads
/// somewhere, and every sample has one value for each sample type.
///
/// Comes out of [`ProfileBuilder::finish`](crate::ProfileBuilder::finish), of
/// [`Profile::decode`], or of a message made elsewhere:
///
/// ```
/// use tachograph_profile::{Profile, proto};
///
/// let message = proto::Profile {
///     sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }],
///     sample: vec![proto::Sample { value: vec![7], ..Default::default() }],
///     string_table: vec!["".into(), "samples".into(), "count".into()],
///     ..Default::default()
/// };
/// assert_eq!(Profile::from_message(message)?.total("samples"), Some(7));
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    /// Without samples.
    tables: proto::Profile,
    samples: Samples,
    index: Index,
}

/// Where in its list each id is.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) mappings: Ids,
    pub(crate) locations: Ids,
    pub(crate) functions: Ids,
}

impl Profile {
    /// Takes a message, once it is found to be coherent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed), with the first thing
    /// found wrong: a string table that does not begin with an empty string, a string
    /// number outside it, an id that is 0, used twice or not defined, no sample type,
    /// or a sample with more or fewer values than there are sample types.
    pub fn from_message(mut message: proto::Profile) -> Result<Self> {
        let index = check::coherent(&message)?;
        let check = SampleCheck::new(&message, &index);
        let mut samples = Samples::new(message.sample_type.len());
        // Each goes once it was added, so that nothing is held twice.
        for sample in std::mem::take(&mut message.sample) {
            check.add(&sample, &mut samples)?;
        }
        Ok(Self::of_parts(message, samples, index))
    }

    /// Takes a message without samples and samples apart from it. The places and strings
    /// that the samples have must be those of the message.
    pub(crate) fn from_parts(tables: proto::Profile, samples: Samples) -> Result<Self> {
        let index = check::coherent(&tables)?;
        Ok(Self::of_parts(tables, samples, index))
    }

    pub(crate) fn of_parts(tables: proto::Profile, samples: Samples, index: Index) -> Self {
        Self {
            tables,
            samples,
            index,
        }
    }

    /// The message as the format defines it, but without its samples: see
    /// [`Profile::samples`] for those.
    #[must_use]
    pub fn tables(&self) -> &proto::Profile {
        &self.tables
    }

    /// The whole message as the format defines it.
    #[must_use]
    pub fn to_message(&self) -> proto::Profile {
        self.clone().into_message()
    }

    /// The whole message as the format defines it, to be changed.
    #[must_use]
    pub fn into_message(self) -> proto::Profile {
        let sample = self.sample_messages().collect();
        proto::Profile {
            sample,
            ..self.tables
        }
    }

    /// The samples, as the format defines them.
    pub(crate) fn sample_messages(&self) -> impl Iterator<Item = proto::Sample> {
        let id_at = |place: usize| self.tables.location[place].id;
        (0..self.samples.len()).map(move |number| self.samples.message(number, id_at))
    }

    pub(crate) fn columns(&self) -> &Samples {
        &self.samples
    }

    #[cfg(feature = "reader")]
    pub(crate) fn into_parts(self) -> (proto::Profile, Samples) {
        (self.tables, self.samples)
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The text of a string number in this profile.
    pub(crate) fn text(&self, number: i64) -> &str {
        // Checked to be in range by `check`.
        &self.tables.string_table[number as usize]
    }
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        // The index follows from the tables.
        self.tables == other.tables && self.samples == other.samples
    }
}
