//! Messages as they are encoded, before anything is made of them.
//!
//! The encoding is that of
//! <https://protobuf.dev/programming-guides/encoding/>, without groups: the format has
//! none.

use std::ops::RangeInclusive;

use crate::samples::Room;

/// What a field may begin with: its number, of 29 bits and not 0, and three bits for what
/// it holds.
const KEYS: RangeInclusive<u64> = 1 << 3..=u32::MAX as u64;

/// What one field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    Number(u64),
    /// A message, a text, or packed numbers.
    Bytes(&'a [u8]),
    /// Eight or four bytes, which no field of ours has.
    Fixed,
}

/// The fields of a message with their numbers, up to the first byte that makes no sense.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// What was not gone through yet: nothing, once all of a message was understood.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(rest: &mut &'a [u8], len: u64) -> Option<&'a [u8]> {
        let (front, back) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        *rest = back;
        Some(front)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Content<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest;
        let key = number(&mut rest)?;
        if !KEYS.contains(&key) {
            return None;
        }
        let content = match key & 7 {
            0 => Content::Number(number(&mut rest)?),
            1 => Self::take(&mut rest, 8).map(|_| Content::Fixed)?,
            2 => {
                let len = number(&mut rest)?;
                Content::Bytes(Self::take(&mut rest, len)?)
            }
            5 => Self::take(&mut rest, 4).map(|_| Content::Fixed)?,
            _ => return None,
        };
        self.rest = rest;
        Some((key >> 3, content))
    }
}

/// Takes a number off the front: seven bits a byte, the lowest first.
#[inline]
pub(crate) fn number(rest: &mut &[u8]) -> Option<u64> {
    match *rest {
        // Most have one byte or two.
        [low @ ..0x80, others @ ..] => {
            *rest = others;
            Some(u64::from(*low))
        }
        [low, high @ ..0x80, others @ ..] => {
            *rest = others;
            Some(u64::from(*high) << 7 | u64::from(low & 0x7f))
        }
        _ => long_number(rest),
    }
}

fn long_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in rest.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *rest = &rest[place + 1..];
            // The tenth byte has room for one bit.
            return (place < 9 || byte < 2).then_some(number);
        }
    }
    None
}

/// What is in a profile's message, found without making anything of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) types: usize,
    pub(crate) samples: Room,
    pub(crate) mappings: Numbered,
    pub(crate) locations: Numbered,
    pub(crate) lines: usize,
    pub(crate) functions: Numbered,
    pub(crate) texts: usize,
    pub(crate) text_bytes: usize,
    pub(crate) comments: usize,
}

/// How many parts with ids there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) count: usize,
    /// Whether the ids are others than the numbers from 1: see [`crate::ids::Ids`].
    pub(crate) is_sparse: bool,
}

impl Numbered {
    fn add(&mut self, id: Option<u64>) {
        self.count += 1;
        self.is_sparse |= id != Some(self.count as u64);
    }
}

impl Sizes {
    /// Fails with the place in `message` where something begins that is no field.
    pub(crate) fn of(message: &[u8]) -> Result<Self, usize> {
        let mut sizes = Self::default();
        let mut fields = Fields::of(message);
        loop {
            let place = message.len() - fields.rest().len();
            let is_whole = match fields.next() {
                Some((1, _)) => {
                    sizes.types += 1;
                    true
                }
                Some((2, Content::Bytes(sample))) => sizes.add_sample(sample),
                Some((3, content)) => {
                    sizes.mappings.add(id(content));
                    true
                }
                Some((4, Content::Bytes(location))) => sizes.add_location(location),
                Some((5, content)) => {
                    sizes.functions.add(id(content));
                    true
                }
                Some((6, Content::Bytes(text))) => {
                    sizes.texts += 1;
                    sizes.text_bytes += text.len();
                    true
                }
                Some((13, content)) => {
                    sizes.comments += numbers(content);
                    true
                }
                Some(_) => true,
                None if fields.rest().is_empty() => return Ok(sizes),
                None => false,
            };
            if !is_whole {
                return Err(place);
            }
        }
    }

    fn add_sample(&mut self, sample: &[u8]) -> bool {
        self.samples.samples += 1;
        let mut fields = Fields::of(sample);
        for (field, content) in fields.by_ref() {
            match field {
                1 => self.samples.places += numbers(content),
                2 => self.samples.values += numbers(content),
                3 => self.samples.labels += 1,
                _ => {}
            }
        }
        fields.rest().is_empty()
    }

    fn add_location(&mut self, location: &[u8]) -> bool {
        let mut id = None;
        let mut fields = Fields::of(location);
        for (field, content) in fields.by_ref() {
            match (field, content) {
                (1, Content::Number(number)) => id = Some(number),
                (4, _) => self.lines += 1,
                _ => {}
            }
        }
        self.locations.add(id);
        fields.rest().is_empty()
    }
}

/// The id of a mapping or a function; `None` if it is not known for sure.
fn id(content: Content<'_>) -> Option<u64> {
    let Content::Bytes(bytes) = content else {
        return None;
    };
    let mut id = None;
    let mut fields = Fields::of(bytes);
    for (field, content) in fields.by_ref() {
        if let (1, Content::Number(number)) = (field, content) {
            id = Some(number);
        }
    }
    id.filter(|_| fields.rest().is_empty())
}

/// How many numbers there are, packed or one by itself. Each ends in a byte without the
/// highest bit.
fn numbers(content: Content<'_>) -> usize {
    match content {
        Content::Number(_) => 1,
        Content::Bytes(packed) => packed.iter().filter(|&&byte| byte < 0x80).count(),
        Content::Fixed => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX] {
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(value, &mut bytes);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!(number(&mut rest), Some(value));
            assert_eq!(rest, [7]);
        }
        let too_large = [&[0xff; 9][..], &[2]].concat();
        for bytes in [&[][..], &[0x80], &[0xff; 11], &too_large] {
            assert_eq!(number(&mut &bytes[..]), None, "{bytes:?}");
        }
    }

    #[test]
    fn fields_end_where_they_make_no_sense() {
        let bytes = [
            0x08, 5, // 1: a number
            0x12, 2, 8, 9, // 2: two bytes
            0x1d, 1, 2, 3, 4, // 3: four bytes
            0x21, 1, 2, 3, 4, 5, 6, 7, 8, // 4: eight bytes
            0x2b, 0x2c, // 5: a group
        ];
        let mut fields = Fields::of(&bytes);
        let found: Vec<_> = fields.by_ref().collect();
        assert_eq!(
            found,
            [
                (1, Content::Number(5)),
                (2, Content::Bytes(&[8, 9])),
                (3, Content::Fixed),
                (4, Content::Fixed),
            ]
        );
        assert_eq!(fields.rest(), [0x2b, 0x2c]);
        let no_fields = [
            &[0x12, 3, 8, 9][..],
            &[0x1d, 1, 2, 3],
            &[0x08],
            // The numbers 0 and 2^29.
            &[0x02, 0],
            &[0x80, 0x80, 0x80, 0x80, 0x10, 0],
        ];
        for bytes in no_fields {
            let mut fields = Fields::of(bytes);
            assert_eq!(fields.next(), None);
            assert_eq!(fields.rest(), bytes);
        }
        let largest = [0xf8, 0xff, 0xff, 0xff, 0x0f, 7];
        let found = Fields::of(&largest).next();
        assert_eq!(found, Some(((1 << 29) - 1, Content::Number(7))));
    }

    #[test]
    fn sizes_are_those_of_whole_messages() {
        let message = [
            0x0a, 0, 0x0a, 0, // types
            0x12, 9, 0x0a, 3, 1, 0x80, 1, 0x10, 5, 0x1a, 0, // a sample
            0x22, 4, 0x22, 0, 0x22, 0, // a location of two lines, without an id
            0x2a, 4, 8, 9, 8, 1, 0x2a, 2, 8, 2, // functions
            0x32, 2, b'o', b'k', // a text
            0x6a, 2, 1, 2, // comments
        ];
        let sizes = Sizes {
            types: 2,
            samples: Room {
                samples: 1,
                places: 2,
                values: 1,
                labels: 1,
            },
            locations: Numbered {
                count: 1,
                is_sparse: true,
            },
            lines: 2,
            functions: Numbered {
                count: 2,
                is_sparse: false,
            },
            texts: 1,
            text_bytes: 2,
            comments: 2,
            ..Default::default()
        };
        assert_eq!(Sizes::of(&message), Ok(sizes));
        // A group, by itself and in a location.
        let bad = [&message[..], &[0x2b, 0x2c]].concat();
        assert_eq!(Sizes::of(&bad), Err(message.len()));
        assert_eq!(Sizes::of(&[0x22, 2, 0x2b, 0x2c]), Err(0));
    }
}
