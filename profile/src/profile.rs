//! A profile whose references are known to lead somewhere.

use crate::check;
use crate::error::Result;
use crate::ids::Ids;
use crate::proto;

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
    message: proto::Profile,
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
    pub fn from_message(message: proto::Profile) -> Result<Self> {
        let index = check::coherent(&message)?;
        Ok(Self { message, index })
    }

    /// The message as the format defines it.
    #[must_use]
    pub fn message(&self) -> &proto::Profile {
        &self.message
    }

    /// The message, to be changed.
    #[must_use]
    pub fn into_message(self) -> proto::Profile {
        self.message
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The text of a string number in this profile.
    pub(crate) fn text(&self, number: i64) -> &str {
        // Checked to be in range by `check`.
        &self.message.string_table[number as usize]
    }
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        // The index follows from the message.
        self.message == other.message
    }
}
