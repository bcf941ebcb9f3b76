//! How much memory a message will take, before any of it is taken.

use std::mem::size_of;

use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::proto;

/// What a file may make its reader use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The most bytes of the uncompressed message.
    pub uncompressed: u64,
    /// The most bytes of memory for the message once it is decoded.
    pub memory: u64,
}

impl Profile {
    /// Like [`Profile::decode`], for files that may be made to do harm: looks through
    /// the message first, and refuses it before it takes more memory than allowed.
    ///
    /// # Errors
    ///
    /// Those of [`Profile::decode`], and [`ErrorKind::TooLarge`] for the memory.
    pub fn decode_within(bytes: &[u8], caps: Caps) -> Result<Self> {
        let plain = crate::decode::plain(bytes, caps.uncompressed)?;
        let weight = weight(&plain);
        if weight > caps.memory {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the profile would take about {weight} bytes of memory; {} are allowed",
                    caps.memory
                ),
            ));
        }
        Self::decode_plain(&plain)
    }
}

/// A vector that grows may hold twice what it needs.
const GROWTH: u64 = 2;
/// What the allocator adds to a piece of memory.
const PIECE: u64 = 16;

/// About how many bytes the message takes in memory. What is not a message weighs what was
/// understood of it: decoding it will say what is wrong.
fn weight(message: &[u8]) -> u64 {
    let mut weight = 0_u64;
    for field in Fields(message) {
        weight += match (field.number, field.bytes) {
            (2, Some(sample)) => GROWTH * size_of::<proto::Sample>() as u64 + of_sample(sample),
            (3, Some(_)) => GROWTH * size_of::<proto::Mapping>() as u64,
            (4, Some(location)) => {
                let lines = Fields(location).filter(|it| it.number == 4).count() as u64;
                GROWTH
                    * (size_of::<proto::Location>() as u64
                        + lines * size_of::<proto::Line>() as u64)
                    + PIECE
            }
            (5, Some(_)) => GROWTH * size_of::<proto::Function>() as u64,
            (6, Some(text)) => GROWTH * size_of::<String>() as u64 + text.len() as u64 + PIECE,
            (13, Some(packed)) => GROWTH * numbers(packed) * 8,
            (13, None) => GROWTH * 8,
            _ => 0,
        };
    }
    weight
}

fn of_sample(sample: &[u8]) -> u64 {
    let (mut numbers_in, mut labels) = (0, 0);
    for field in Fields(sample) {
        match (field.number, field.bytes) {
            (1 | 2, Some(packed)) => numbers_in += numbers(packed),
            (1 | 2, None) => numbers_in += 1,
            (3, Some(_)) => labels += 1,
            _ => {}
        }
    }
    GROWTH * (numbers_in * 8 + labels * size_of::<proto::Label>() as u64) + 3 * PIECE
}

/// How many numbers are packed: each ends in a byte without the highest bit.
fn numbers(packed: &[u8]) -> u64 {
    packed.iter().filter(|&&byte| byte < 0x80).count() as u64
}

/// One field of a message: its number, and its bytes if it has a length.
struct Field<'a> {
    number: u64,
    bytes: Option<&'a [u8]>,
}

/// The fields of a message, up to the first byte that makes no sense.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for (place, &byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (front, back) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = back;
        Some(front)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let key = self.number()?;
        let bytes = match key & 7 {
            0 => {
                self.number()?;
                None
            }
            1 => {
                self.take(8)?;
                None
            }
            2 => {
                let len = self.number()?;
                Some(self.take(len)?)
            }
            5 => {
                self.take(4)?;
                None
            }
            _ => return None,
        };
        Some(Field {
            number: key >> 3,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    const CAPS: Caps = Caps {
        uncompressed: 1 << 20,
        memory: 1 << 20,
    };

    fn message(samples: usize) -> proto::Profile {
        proto::Profile {
            sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }],
            sample: vec![
                proto::Sample {
                    location_id: vec![1; 10],
                    value: vec![300],
                    label: vec![proto::Label {
                        key: 1,
                        str: 2,
                        ..Default::default()
                    }],
                };
                samples
            ],
            location: vec![proto::Location {
                id: 1,
                line: vec![
                    proto::Line {
                        function_id: 1,
                        ..Default::default()
                    };
                    3
                ],
                ..Default::default()
            }],
            function: vec![proto::Function {
                id: 1,
                ..Default::default()
            }],
            string_table: vec![String::new(), "samples".to_owned(), "count".to_owned()],
            comment: vec![1, 2, 1],
            ..Default::default()
        }
    }

    #[test]
    fn a_profile_weighs_what_it_takes() {
        let weight = weight(&message(100).encode_to_vec());
        let sample = size_of::<proto::Sample>() + 10 * 8 + 8 + size_of::<proto::Label>();
        assert!(weight >= 100 * sample as u64, "{weight}");
        assert!(weight <= 300 * sample as u64, "{weight}");
    }

    #[test]
    fn empty_samples_are_weighed_before_they_are_made() {
        let mut bytes = message(1).encode_to_vec();
        // Two bytes each, seventy in memory.
        bytes.extend([0x12, 0].repeat(100_000));
        let error = Profile::decode_within(&bytes, CAPS).expect_err("too heavy");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("of memory"), "{error}");
    }

    #[test]
    fn what_is_light_is_decoded_and_what_is_no_message_is_refused() {
        let light = message(10);
        let decoded = Profile::decode_within(&light.encode_to_vec(), CAPS).expect("light");
        assert_eq!(*decoded.message(), light);
        for bytes in [
            &b"not a profile"[..],
            &[0xff; 40],
            &[0x12, 0xff, 0xff, 0x7f],
        ] {
            let error = Profile::decode_within(bytes, CAPS).expect_err("no profile");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        }
    }
}
