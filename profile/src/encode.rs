//! Writing a profile.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use prost::Message;

use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;

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
        let bytes = self.message().encode_to_vec();
        let mut gzip = GzBuilder::new().write(out, Compression::default());
        gzip.write_all(&bytes)
            .and_then(|()| gzip.try_finish())
            .map_err(|source| {
                Error::new(ErrorKind::Io, "cannot write the profile").caused_by(source)
            })
    }
}
