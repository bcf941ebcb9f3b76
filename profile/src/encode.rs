//! Writing a profile.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use prost::Message;

use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::proto;

impl Profile {
    /// Writes the profile, compressed with gzip, as tools expect it in a file.
    ///
    /// The gzip header holds neither name nor time: equal profiles give equal bytes.
    /// The uncompressed message, a few times larger, is held in memory meanwhile.
    /// A limit on the size is the writer's to enforce, by an error of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] with the writer's error as the source. What was written by
    /// then is not a whole profile.
    pub fn encode_gz(&self, out: &mut impl Write) -> Result<()> {
        let mut bytes = self.tables().encode_to_vec();
        // One after the other: fields may come in any order.
        for sample in self.sample_messages() {
            OneSample {
                sample: Some(sample),
            }
            .encode(&mut bytes)
            .expect("a vector takes everything");
        }
        let mut gzip = GzBuilder::new().write(out, Compression::default());
        gzip.write_all(&bytes)
            .and_then(|()| gzip.try_finish())
            .map_err(|source| {
                Error::new(ErrorKind::Io, "cannot write the profile").caused_by(source)
            })
    }
}

/// A message with a single sample and nothing else. Appended to another message it adds
/// the sample to it.
#[derive(Clone, PartialEq, Message)]
struct OneSample {
    #[prost(message, optional, tag = "2")]
    sample: Option<proto::Sample>,
}
