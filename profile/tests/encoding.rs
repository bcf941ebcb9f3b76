//! Encoding, decoding, and what decoding refuses.

mod common;
#[path = "common/random.rs"]
mod random;

use std::error::Error as _;
use std::io::{self, Write};

use common::builder;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use random::Random;
use tachograph_profile::{
    ErrorKind, Labels, LoadedModules, Module, Names, Profile, Segment, proto,
};

const MEBIBYTE: u64 = 1 << 20;

fn sample_profile() -> Profile {
    let text = Segment {
        start: 0x1000,
        end: 0x9000,
        file_offset: 0,
    };
    let main = Module::new("/bin/app", 0, [text]).with_file(None);
    let mut builder = builder();
    for number in 0..100 {
        let labels = Labels {
            thread: Some("worker"),
            task: (number % 2 == 0).then_some("compaction"),
        };
        builder.add(&[0x1000 + number * 8, 0x2001, 0x3001], labels, 1 + number);
    }
    builder.finish(&LoadedModules::new(main, []), Names::SymbolTable, None)
}

fn encoded(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    profile
        .encode_gz(&mut bytes)
        .expect("a vector takes everything");
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes)
        .and_then(|()| gzip.finish())
        .expect("a vector takes everything")
}

#[test]
fn decoding_undoes_encoding() {
    let profile = sample_profile();
    let bytes = encoded(&profile);
    assert_eq!(
        bytes[..10],
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        "gzip, without name and time"
    );
    assert_eq!(bytes, encoded(&profile));
    assert_eq!(Profile::decode(&bytes, MEBIBYTE).expect("ours"), profile);
}

#[test]
fn plain_and_split_up_input_is_read_as_well() {
    let profile = sample_profile();
    let plain = profile.to_message().encode_to_vec();
    assert_eq!(Profile::decode(&plain, MEBIBYTE).expect("plain"), profile);
    let (front, back) = plain.split_at(plain.len() / 3);
    let members = [gzipped(front), gzipped(back)].concat();
    assert_eq!(
        Profile::decode(&members, MEBIBYTE).expect("two members"),
        profile
    );
}

#[test]
fn the_limit_allows_its_very_number_of_bytes() {
    let profile = sample_profile();
    let plain = profile.to_message().encode_to_vec();
    let len = plain.len() as u64;
    for bytes in [plain, encoded(&profile)] {
        assert!(Profile::decode(&bytes, len).is_ok());
        let error = Profile::decode(&bytes, len - 1).expect_err("one too many");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(
            error.to_string().contains(&(len - 1).to_string()),
            "{error}"
        );
    }
    assert!(Profile::decode(&encoded(&profile), u64::MAX).is_ok());
}

#[test]
fn a_bomb_is_not_inflated() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..32 {
        gzip.write_all(&zeros).expect("a vector takes everything");
    }
    let bomb = gzip.finish().expect("a vector takes everything");
    let error = Profile::decode(&bomb, MEBIBYTE).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn members_whose_sizes_do_not_tell_are_read_whole_and_not_beyond_the_limit() {
    let profile = sample_profile();
    let plain = profile.to_message().encode_to_vec();
    // What the file says at its end is the size of an empty member, or of a small one.
    for (front, back) in [
        (plain.len(), plain.len()),
        (plain.len() - 9, plain.len() - 9),
    ] {
        let members = [gzipped(&plain[..front]), gzipped(&plain[back..])].concat();
        let len = plain.len() as u64;
        assert_eq!(Profile::decode(&members, len).expect("whole"), profile);
        let error = Profile::decode(&members, len - 1).expect_err("one too many");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
    // Longer than what is made room for at first.
    let mut long = profile.to_message();
    long.string_table.push("x".repeat(300_000));
    let long = long.encode_to_vec();
    let members = [gzipped(&long), gzipped(b"")].concat();
    assert!(Profile::decode(&members, MEBIBYTE).is_ok());
}

#[test]
fn damaged_input_is_refused_with_the_cause() {
    let whole = encoded(&sample_profile());
    let cut = &whole[..whole.len() / 2];
    let mut flipped = whole.clone();
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    let trailing = [&whole[..], b"garbage"].concat();
    for (bytes, message, has_source) in [
        (&b""[..], "the input is empty", false),
        (cut, "gzip compression is damaged or cut short", true),
        (&flipped, "gzip compression is damaged or cut short", true),
        (&trailing, "gzip compression is damaged or cut short", true),
        (
            &whole[..2],
            "gzip compression is damaged or cut short",
            true,
        ),
        (b"<html></html>", "not a message of the pprof format", false),
        (b"\x7fELF", "not a message of the pprof format", false),
        (
            b"\x12\x00<html>",
            "they make no sense from byte 2 on",
            false,
        ),
        (
            b"\x12\x02\x0a\x05",
            "not a message of the pprof format",
            false,
        ),
        // A sample has a field with the number 0.
        (
            b"\x0a\x00\x32\x00\x12\x04\x10\x05\x02\x00",
            "they make no sense from byte 4 on",
            false,
        ),
        (
            b"\x5a\x02\x18\x80",
            "not a message of the pprof format",
            true,
        ),
        (&gzipped(b""), "no strings", false),
    ] {
        let error = Profile::decode(bytes, MEBIBYTE).expect_err(message);
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.source().is_some(), has_source, "{error}");
        if let Some(source) = error.source() {
            assert!(!error.to_string().contains(&source.to_string()), "{error}");
        }
    }
}

#[test]
fn references_that_lead_nowhere_are_refused() {
    type Damage = fn(&mut proto::Profile);
    let cases: &[(Damage, &str)] = &[
        (|it| it.string_table.clear(), "the profile has no strings"),
        (
            |it| it.string_table[0].push('x'),
            "string 0 of the profile has text",
        ),
        (|it| it.sample_type.clear(), "no sample types"),
        (
            |it| it.sample_type[0].r#type = 999,
            "a value type refers to string 999",
        ),
        (
            |it| it.sample_type[1].unit = -1,
            "the unit of a value type refers to string -1",
        ),
        (
            |it| it.period_type.get_or_insert_default().unit = i64::MAX,
            "the unit of a value type refers to string 9223372036854775807",
        ),
        (
            |it| it.drop_frames = 999,
            "drop_frames refers to string 999",
        ),
        (
            |it| it.keep_frames = 999,
            "keep_frames refers to string 999",
        ),
        (
            |it| it.default_sample_type = 999,
            "default_sample_type refers to string 999",
        ),
        (|it| it.doc_url = 999, "doc_url refers to string 999"),
        (|it| it.comment.push(999), "a comment refers to string 999"),
        (
            |it| it.mapping[0].filename = 999,
            "the file name of a mapping refers",
        ),
        (
            |it| it.mapping[0].build_id = 999,
            "the build id of a mapping refers",
        ),
        (
            |it| it.function[0].name = 999,
            "the name of a function refers",
        ),
        (
            |it| it.function[0].system_name = 999,
            "the system name of a function refers",
        ),
        (
            |it| it.function[0].filename = 999,
            "the file name of a function refers",
        ),
        (
            |it| it.sample[0].label[0].key = 999,
            "the key of a label refers",
        ),
        (
            |it| it.sample[0].label[0].str = 999,
            "the text of a label refers",
        ),
        (
            |it| it.sample[0].label[0].num_unit = 999,
            "the unit of a label refers",
        ),
        (|it| it.mapping[0].id = 0, "a mapping has the id 0"),
        (|it| it.location[0].id = 0, "a location has the id 0"),
        (|it| it.function[0].id = 0, "a function has the id 0"),
        (
            |it| it.mapping.push(it.mapping[0]),
            "two mappings have the id 1",
        ),
        (
            |it| it.location[1].id = it.location[0].id,
            "two locations have the id 1",
        ),
        (
            |it| it.function[1].id = it.function[0].id,
            "two functions have the id 1",
        ),
        (
            |it| it.location[0].mapping_id = 77,
            "location 1 refers to mapping 77",
        ),
        (
            |it| it.location[0].line[0].function_id = 777,
            "location 1 refers to function 777",
        ),
        (
            |it| it.location[0].line[0].function_id = 0,
            "location 1 refers to function 0",
        ),
        (
            |it| it.sample[3].location_id[0] = 777,
            "sample 3 refers to location 777",
        ),
        (
            |it| it.sample[3].location_id[0] = 0,
            "sample 3 refers to location 0",
        ),
        (
            |it| it.sample[2].value.clear(),
            "sample 2 has 0 values; with 2 sample types",
        ),
        (
            |it| it.sample[2].value.push(1),
            "sample 2 has 3 values; with 2 sample types",
        ),
    ];
    for (damage, message) in cases {
        let mut profile = sample_profile().into_message();
        damage(&mut profile);
        let bytes = gzipped(&profile.encode_to_vec());
        let error = Profile::decode(&bytes, MEBIBYTE).expect_err(message);
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn every_writer_error_comes_through() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("the disk is full"));
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let profile = sample_profile();
    let len = encoded(&profile).len();
    assert!(profile.encode_gz(&mut Full(len)).is_ok());
    for room in [0, 1, 9, 10, len / 2, len - 8, len - 1] {
        let error = profile.encode_gz(&mut Full(room)).expect_err("no room");
        assert_eq!(error.kind(), ErrorKind::Io);
        let source = error.source().expect("the writer's own");
        assert_eq!(source.to_string(), "the disk is full");
    }
}

#[test]
fn random_profiles_survive_the_way_there_and_back() {
    for seed in 0..300 {
        let message = random::profile(&mut Random::new(seed));
        let profile = Profile::from_message(message.clone())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let decoded = Profile::decode(&encoded(&profile), MEBIBYTE)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(decoded.into_message(), message, "seed {seed}");
    }
}

#[test]
fn random_damage_never_panics() {
    for seed in 0..2_000 {
        let random = &mut Random::new(seed);
        let plain = random::profile(random).encode_to_vec();
        let mut bytes = if seed % 4 == 0 {
            gzipped(&plain)
        } else {
            plain
        };
        for _ in 0..=random.below(4) {
            match (random.below(4), bytes.len() as u64) {
                (_, 0) => {}
                (0, len) => bytes.truncate(random.below(len) as usize),
                (1, len) => bytes.insert(random.below(len) as usize, random.next() as u8),
                (_, len) => bytes[random.below(len) as usize] = random.next() as u8,
            }
        }
        let Ok(profile) = Profile::decode(&bytes, MEBIBYTE) else {
            continue;
        };
        // What was accepted can be read in every way.
        for sample in profile.samples() {
            for frame in sample.frames() {
                let _ = (
                    frame.function(),
                    frame.file(),
                    frame.line(),
                    frame.mapping(),
                );
            }
            let _ = sample.label("task");
        }
        let types: Vec<String> = profile.sample_types().map(|it| it.0.to_owned()).collect();
        for sample_type in types {
            assert!(profile.total(&sample_type).is_some(), "seed {seed}");
            let _ = profile.by_label("task", &sample_type);
        }
        let _ = (
            profile.started_at(),
            profile.duration(),
            profile.comments().len(),
        );
    }
}
