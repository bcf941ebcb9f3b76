//! How much memory a message will take, before any of it is taken.

use crate::error::{Error, ErrorKind, Result};
use crate::ids::Ids;
use crate::profile::Profile;
use crate::proto;
use crate::wire::{Numbered, Sizes};

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
        let sizes = crate::decode::sizes(&plain)?;
        let weight = weight(sizes);
        if weight > caps.memory {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the profile would take about {weight} bytes of memory; {} are allowed",
                    caps.memory
                ),
            ));
        }
        Self::decode_plain(&plain, sizes)
    }
}

/// What the allocator adds to a piece of memory.
const PIECE: u64 = 16;
/// What it adds to a short one at most: glibc's are of 32 bytes at least.
const SHORT_PIECE: u64 = 32;
/// A list that grows may hold twice what it needs, and at least four.
const GROWTH: u64 = 2;
const LEAST: u64 = 4;

/// About how many bytes a message of these sizes takes in memory.
fn weight(sizes: Sizes) -> u64 {
    let list = |count: usize, size: usize| count as u64 * size as u64;
    let numbered = |it: Numbered, size: usize| {
        let index = match it.is_sparse {
            true => Ids::sparse_bytes(it.count),
            false => 0,
        };
        list(it.count, size) + index
    };
    let locations = sizes.locations.count as u64;
    let lines = sizes.lines as u64;
    let lines = GROWTH * lines + LEAST * locations.min(lines);
    sizes.samples.bytes()
        + list(sizes.types, size_of::<proto::ValueType>())
        + numbered(sizes.mappings, size_of::<proto::Mapping>())
        + numbered(sizes.locations, size_of::<proto::Location>())
        + lines * size_of::<proto::Line>() as u64
        + locations * PIECE
        + numbered(sizes.functions, size_of::<proto::Function>())
        + list(sizes.texts, size_of::<String>())
        + sizes.text_bytes as u64
        + sizes.texts as u64 * SHORT_PIECE
        + list(sizes.comments, size_of::<i64>())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

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
        let weight = weight(Sizes::of(&message(100).encode_to_vec()).expect("a message"));
        // Ten places, a value, a label, and where they end.
        let sample = 10 * 4 + 8 + size_of::<proto::Label>() + 16;
        assert!(weight >= 100 * sample as u64, "{weight}");
        assert!(weight <= 300 * sample as u64, "{weight}");
    }

    #[test]
    fn an_index_is_weighed_where_ids_need_one() {
        for (table, size) in [
            (0x1a, size_of::<proto::Mapping>()),
            (0x22, size_of::<proto::Location>()),
            (0x2a, size_of::<proto::Function>()),
        ] {
            // One more than fit into the hash table of half the size.
            let weight = |first: u64| {
                let mut bytes = Vec::new();
                for id in first..first + 1793 {
                    bytes.extend([table, 3, 8, id as u8 | 0x80, (id >> 7) as u8]);
                }
                weight(Sizes::of(&bytes).expect("a message"))
            };
            let taken = HashMap::<u64, usize>::with_capacity(1793).capacity() as u64 * 8 / 7 * 17;
            assert!(weight(1) >= 1793 * size as u64, "{table:#x}");
            assert!(weight(2) >= 1793 * size as u64 + taken, "{table:#x}");
            assert!(weight(1) < weight(2), "{table:#x}");
        }
    }

    #[test]
    fn what_is_short_takes_a_whole_piece() {
        let bytes = [0x32, 1, b'x'].repeat(1000);
        let weight = weight(Sizes::of(&bytes).expect("a message"));
        assert!(
            weight >= 1000 * (size_of::<String>() as u64 + 32),
            "{weight}"
        );
    }

    #[test]
    fn lists_are_made_as_long_as_they_will_be() {
        let mut message = message(1);
        message.sample_type = vec![proto::ValueType::default(); 5];
        message.sample[0].value = vec![1; 5];
        message.comment = vec![0; 5];
        let decoded = Profile::decode_within(&message.encode_to_vec(), CAPS).expect("light");
        assert_eq!(decoded.tables().sample_type.capacity(), 5);
        assert_eq!(decoded.tables().comment.capacity(), 5);
    }

    #[test]
    fn what_is_empty_is_weighed_before_it_is_made() {
        // Two bytes each of a message, many times that in memory: sample types, samples,
        // mappings, locations, functions, strings.
        for field in [0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32] {
            let mut bytes = message(1).encode_to_vec();
            bytes.extend([field, 0].repeat(100_000));
            let error = Profile::decode_within(&bytes, CAPS).expect_err("too heavy");
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{field:#x}");
            assert!(error.to_string().contains("of memory"), "{error}");
        }
    }

    #[test]
    fn what_is_light_is_decoded_and_what_is_no_message_is_refused() {
        let light = message(10);
        let decoded = Profile::decode_within(&light.encode_to_vec(), CAPS).expect("light");
        assert_eq!(decoded.into_message(), light);
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
