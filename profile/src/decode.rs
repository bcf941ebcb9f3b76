//! Reading a profile, out of a source that is not trusted.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::Message;

use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::proto;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

impl Profile {
    /// Reads a profile from the bytes of a file, compressed with gzip (in one member
    /// or several) or not.
    ///
    /// `max_uncompressed` bounds the size of the uncompressed message, in bytes. In
    /// memory a profile takes a few times that; one made to do harm, out of nothing but
    /// empty samples, about a hundred times.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if the message has more bytes than allowed,
    /// [`ErrorKind::Malformed`] if the bytes are not a profile, or not one that is
    /// coherent (see [`Profile::from_message`]).
    pub fn decode(bytes: &[u8], max_uncompressed: u64) -> Result<Self> {
        Self::decode_plain(&plain(bytes, max_uncompressed)?)
    }

    /// Reads a profile from the bytes of its message.
    pub(crate) fn decode_plain(plain: &[u8]) -> Result<Self> {
        let message = proto::Profile::decode(plain).map_err(|source| {
            Error::malformed("the bytes are not a message of the pprof format").caused_by(source)
        })?;
        Self::from_message(message)
    }
}

/// The bytes of the message, of which there are at most `max`.
pub(crate) fn plain(bytes: &[u8], max: u64) -> Result<Cow<'_, [u8]>> {
    if bytes.is_empty() {
        return Err(Error::malformed("the input is empty; a profile is not"));
    }
    let plain = if bytes.starts_with(&GZIP_MAGIC) {
        Cow::Owned(inflate(bytes, max)?)
    } else {
        Cow::Borrowed(bytes)
    };
    if plain.len() as u64 > max {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!("the profile has more than the {max} bytes allowed"),
        ));
    }
    Ok(plain)
}

/// At most one byte more than `max`, so that the caller sees that there is more.
fn inflate(bytes: &[u8], max: u64) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(max.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(|source| {
            Error::malformed("the gzip compression is damaged or cut short").caused_by(source)
        })?;
    Ok(plain)
}
