//! Reading a profile, out of a source that is not trusted.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::{DecodeError, Message};

use crate::check::{self, SampleCheck};
use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::proto;
use crate::samples::Samples;
use crate::wire::{Content, Fields, Sizes, number};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

const NO_MESSAGE: &str = "the bytes are not a message of the pprof format";

/// The least that is made room for, in bytes.
const ROOM_MIN: usize = 64 << 10;

/// The number of the samples' field in the message.
const SAMPLE: u64 = 2;

impl Profile {
    /// Reads a profile from the bytes of a file, compressed with gzip (in one member
    /// or several) or not.
    ///
    /// `max_uncompressed` bounds the size of the uncompressed message, in bytes. In
    /// memory a profile takes a few times that; one made to do harm, out of nothing but
    /// empty locations, about fifty times.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if the message has more bytes than allowed,
    /// [`ErrorKind::Malformed`] if the bytes are not a profile, or not one that is
    /// coherent (see [`Profile::from_message`]).
    pub fn decode(bytes: &[u8], max_uncompressed: u64) -> Result<Self> {
        let plain = plain(bytes, max_uncompressed)?;
        let sizes = sizes(&plain)?;
        Self::decode_plain(&plain, sizes)
    }

    /// Reads a profile from the bytes of its message, whose sizes are known.
    pub(crate) fn decode_plain(plain: &[u8], sizes: Sizes) -> Result<Self> {
        let tables = tables(plain, sizes)?;
        let index = check::coherent(&tables)?;
        let check = SampleCheck::new(&tables, &index);
        let mut samples = Samples::with_room(tables.sample_type.len(), sizes.samples);
        for (field, content) in Fields::of(plain) {
            if let (SAMPLE, Content::Bytes(bytes)) = (field, content) {
                add_sample(bytes, &check, &mut samples)?;
            }
        }
        Ok(Self::of_parts(tables, samples, index))
    }
}

/// What is in the message.
pub(crate) fn sizes(plain: &[u8]) -> Result<Sizes> {
    Sizes::of(plain).map_err(|place| match place {
        0 => Error::malformed(NO_MESSAGE),
        place => Error::malformed(format!(
            "{NO_MESSAGE}: they make no sense from byte {place} on"
        )),
    })
}

/// The message without its samples.
fn tables(plain: &[u8], sizes: Sizes) -> Result<proto::Profile> {
    let mut tables = proto::Profile {
        sample_type: Vec::with_capacity(sizes.types),
        mapping: Vec::with_capacity(sizes.mappings.count),
        location: Vec::with_capacity(sizes.locations.count),
        function: Vec::with_capacity(sizes.functions.count),
        string_table: Vec::with_capacity(sizes.texts),
        comment: Vec::with_capacity(sizes.comments),
        ..Default::default()
    };
    // Where the fields began that are no samples and not decoded yet.
    let mut start = plain;
    let mut fields = Fields::of(plain);
    loop {
        let here = fields.rest();
        match fields.next() {
            Some((SAMPLE, Content::Bytes(_))) | None => {
                let others = &start[..start.len() - here.len()];
                tables.merge(others).map_err(no_message)?;
                start = fields.rest();
            }
            Some(_) => {}
        }
        if here.is_empty() {
            return Ok(tables);
        }
    }
}

fn no_message(source: DecodeError) -> Error {
    Error::malformed(NO_MESSAGE).caused_by(source)
}

fn add_sample(bytes: &[u8], check: &SampleCheck<'_>, samples: &mut Samples) -> Result<()> {
    for (field, content) in Fields::of(bytes) {
        match (field, content) {
            (1, content) => each_number(content, |id| check.add_location(id, samples))?,
            (2, content) => each_number(content, |value| {
                samples.add_value(value.cast_signed());
                Ok(())
            })?,
            (3, Content::Bytes(label)) => {
                let label = proto::Label::decode(label).map_err(no_message)?;
                check.add_label(label, samples)?;
            }
            (3, _) => return Err(Error::malformed(NO_MESSAGE)),
            _ => {}
        }
    }
    check.end(samples)
}

fn each_number(content: Content<'_>, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
    match content {
        Content::Number(number) => each(number),
        Content::Bytes(mut packed) => {
            while !packed.is_empty() {
                let number = number(&mut packed).ok_or_else(|| Error::malformed(NO_MESSAGE))?;
                each(number)?;
            }
            Ok(())
        }
        Content::Fixed => Err(Error::malformed(NO_MESSAGE)),
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
    let mut plain = Vec::with_capacity(room(bytes, max));
    let mut gzip = MultiGzDecoder::new(bytes);
    loop {
        // A vector that grows by itself takes twice what is allowed, where the bytes do
        // not say how much they are.
        let left = usize::try_from(max.saturating_add(1)).unwrap_or(usize::MAX) - plain.len();
        let room = plain.capacity() - plain.len();
        if room == 0 {
            plain.reserve_exact(left.min(plain.len().max(ROOM_MIN)));
        }
        let room = (plain.capacity() - plain.len()).min(left);
        let read = (&mut gzip).take(room as u64).read_to_end(&mut plain);
        let read = read.map_err(|source| {
            Error::malformed("the gzip compression is damaged or cut short").caused_by(source)
        })?;
        if read < room || read == left {
            return Ok(plain);
        }
    }
}

/// How much the bytes say they inflate to, as far as that can be: deflate makes at most
/// 1032 bytes of one (<https://zlib.net/zlib_tech.html>).
fn room(bytes: &[u8], max: u64) -> usize {
    // The last four bytes of a member are its size, modulo 2^32.
    let said = bytes
        .last_chunk()
        .map_or(0, |last| u32::from_le_bytes(*last));
    let possible = (bytes.len() as u64).saturating_mul(1032).min(max);
    usize::try_from(u64::from(said).min(possible)).unwrap_or(0)
}
