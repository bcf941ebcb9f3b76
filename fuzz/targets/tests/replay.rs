//! What the fuzzer found worth keeping, tried again on the stable compiler,
//! and input that was made to take all the memory there is.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use peak_alloc::PeakAlloc;
use prost::Message;
use tachograph_fuzz_targets::{TARGETS, UNCOMPRESSED_MAX};
use tachograph_profile::{ErrorKind, Profile, proto};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The most memory that decoding may take, in bytes, for each byte of the
/// limit. The largest thing that two bytes make is an empty sample.
const MEMORY_FOR_EACH_BYTE: u64 = 128;

/// What takes memory however little there is to decode, such as the
/// decompressor.
const MEMORY_AT_LEAST: u64 = 256 << 10;

/// What a reader is given are profiles, too.
fn corpus(target: &str) -> Vec<PathBuf> {
    let target = if target == "reader" {
        "profile"
    } else {
        target
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../corpus")
        .join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("it is listed").path())
        .collect();
    files.sort();
    files
}

/// Decodes, and checks how much memory that took.
fn decode(name: &str, input: &[u8], max: u64) -> Result<Profile, ErrorKind> {
    let before = ALLOCATOR.current_usage() as u64;
    ALLOCATOR.reset_peak_usage();
    let decoded = Profile::decode(input, max);
    let peak = (ALLOCATOR.peak_usage() as u64).saturating_sub(before);
    let allowed = MEMORY_AT_LEAST + MEMORY_FOR_EACH_BYTE * max;
    assert!(peak <= allowed, "{name}: {peak} bytes, {allowed} allowed");
    decoded.map_err(|error| error.kind())
}

fn gzipped(plain: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(plain)
        .and_then(|()| gzip.finish())
        .expect("a vector takes all")
}

/// A coherent message without samples.
fn message() -> proto::Profile {
    proto::Profile {
        sample_type: vec![proto::ValueType { r#type: 1, unit: 1 }],
        string_table: vec![String::new(), "samples".into()],
        ..Default::default()
    }
}

#[allow(clippy::print_stdout, reason = "which input a panic was of")]
// All in one test: the allocator counts what the whole program does.
#[test]
fn nothing_panics_and_memory_is_bounded() {
    for (target, run) in TARGETS {
        let files = corpus(target);
        assert!(files.len() >= 10, "{target}: {} files", files.len());
        for file in files {
            // Shown when it panics.
            println!("{}", file.display());
            let input = fs::read(&file).expect("it is readable");
            run(&input);
            if target == "profile" {
                let name = file.display().to_string();
                drop(decode(&name, &input, UNCOMPRESSED_MAX));
            }
        }
    }
    bombs();
    multiplied();
}

/// The limit for what follows, in bytes.
const LIMIT: u64 = 128 << 10;

/// Little input that would be much memory if it were let.
fn bombs() {
    let too_large = Err(ErrorKind::TooLarge);
    let zeros = gzipped(&vec![0; 4 << 20]);
    assert_eq!(decode("zeros", &zeros, LIMIT).map(drop), too_large);
    let members = gzipped(&vec![0; 64 << 10]).repeat(1000);
    assert_eq!(decode("members", &members, LIMIT).map(drop), too_large);
    let empty = gzipped(&[]).repeat(1000);
    let malformed = Err(ErrorKind::Malformed);
    assert_eq!(decode("empty members", &empty, LIMIT).map(drop), malformed);
}

/// Coherent or not, what is written shortest for what it makes.
fn multiplied() {
    let start = message().encode_to_vec();
    // Field and length, each in a message of its own, over and over.
    for (name, field) in [
        ("value types", 1_u8),
        ("samples", 2),
        ("mappings", 3),
        ("locations", 4),
        ("functions", 5),
        ("strings", 6),
    ] {
        let mut input = start.clone();
        while input.len() + 2 <= LIMIT as usize {
            input.extend([field << 3 | 2, 0]);
        }
        // Some are allowed to be empty.
        let decoded = decode(name, &gzipped(&input), LIMIT);
        assert!(
            matches!(decoded, Ok(_) | Err(ErrorKind::Malformed)),
            "{name}"
        );
    }
    let mut packed = message();
    packed.comment = vec![1; LIMIT as usize - 100];
    assert!(decode("comments", &gzipped(&packed.encode_to_vec()), LIMIT).is_ok());

    let mut labelled = message();
    let labels = vec![proto::Label::default(); LIMIT as usize / 2 - 100];
    labelled.sample.push(proto::Sample {
        value: vec![1],
        label: labels,
        ..Default::default()
    });
    assert!(decode("labels", &gzipped(&labelled.encode_to_vec()), LIMIT).is_ok());
}
