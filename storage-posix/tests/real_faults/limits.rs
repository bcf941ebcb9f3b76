//! Limits of the process, each in one of its own.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tachograph_core::ErrorKind;
use tachograph_storage_posix::PosixStore;

use crate::recording::{Recording, some_day};
use crate::{common, whole};

const LIMIT: &str = "TACHOGRAPH_TEST_LIMIT";
const FILE_SIZES: [u64; 3] = [0, 100, 4096];
/// The private directory, its listing, the profile, the sidecar: not all at once.
const DESCRIPTORS_ENOUGH: u64 = 3;

pub(crate) fn size_of_files(place: &Path) -> u64 {
    in_a_process("size of files", place);
    FILE_SIZES.len() as u64
}

pub(crate) fn descriptors(place: &Path) -> u64 {
    in_a_process("descriptors", place);
    2 * DESCRIPTORS_ENOUGH
}

fn in_a_process(limit: &str, place: &Path) {
    let mut command = common::child("each_is_met", place);
    command.env(LIMIT, limit);
    common::run(command);
}

/// In that process.
pub(crate) fn play(place: &Path) {
    match std::env::var(LIMIT).expect("the parent says so").as_str() {
        "size of files" => with_small_files(place),
        _ => with_few_descriptors(place),
    }
    common::child_done();
}

fn limit(resource: Resource, current: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = Some(current);
    setrlimit(resource, Rlimit { current, maximum }).expect("limited");
}

/// SIGXFSZ has its default action, which would be the end of the service.
fn with_small_files(place: &Path) {
    let path = place.join("profiles");
    for (day, bytes) in (1..).zip(FILE_SIZES) {
        limit(Resource::Fsize, bytes);
        let store = PosixStore::open(&path).expect("it can be made");
        let mut recording = Recording::start(store, some_day() + day * DAY);
        recording.sampler.set_profile_bytes(4097);
        recording.a_minute_passes();
        let why = recording.failure();
        assert!(why.contains("cannot write"), "{why}");
        assert!(why.contains(&format!("RLIMIT_FSIZE is {bytes}")), "{why}");
        assert!(whole(&path).is_empty());
    }
    limit(Resource::Fsize, 4097);
    let store = PosixStore::open(&path).expect("it is free");
    let mut recording = Recording::start(store, some_day());
    recording.sampler.set_profile_bytes(4097);
    recording.a_minute_passes();
    assert_eq!(recording.saved(), 1);
    assert_eq!(whole(&path).len(), 2);
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn with_few_descriptors(place: &Path) {
    const EVERY: &str = "Too many open files";
    for is_missing in [true, false] {
        let mut saved = Vec::new();
        for left in 0..=2 * DESCRIPTORS_ENOUGH {
            let path = place
                .join(format!("{is_missing}-{left}"))
                .join("a/profiles");
            if !is_missing {
                drop(PosixStore::open(&path).expect("it can be made"));
            }
            let before = common::snapshot(place);
            let hoard = Hoard::all_but(left);
            let store = match PosixStore::open(&path) {
                Ok(store) => store,
                Err(error) => {
                    drop(hoard);
                    assert_eq!(error.kind(), ErrorKind::Directory);
                    let why = format!("{error:#}");
                    assert!(why.contains(EVERY), "{why}");
                    // What was made on the way is gone again.
                    assert_eq!(common::snapshot(place), before, "{left} left");
                    continue;
                }
            };
            let mut recording = Recording::start(store, some_day());
            recording.a_minute_passes();
            drop(hoard);
            if recording.saved() == 1 {
                assert_eq!(whole(&path).len(), 2);
                saved.push(left);
            } else {
                let why = recording.failure();
                assert!(why.contains(EVERY), "{why}");
                assert!(whole(&path).is_empty(), "{left} left");
            }
            drop(recording);
            fs::remove_dir_all(&path).expect("it is there");
            PosixStore::open(&path).expect("all is well again");
        }
        assert!(!saved.contains(&0), "nobody went without");
        let enough = 2 * DESCRIPTORS_ENOUGH;
        assert!(saved.contains(&enough), "{enough} are not enough");
        if !is_missing {
            assert!(saved.contains(&DESCRIPTORS_ENOUGH), "{saved:?}");
        }
    }
}

/// Descriptors that nobody else can have.
struct Hoard(#[allow(dead_code, reason = "they are held")] Vec<File>);

impl Hoard {
    fn all_but(left: u64) -> Self {
        limit(Resource::Nofile, 64);
        let mut hoard = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            hoard.push(file);
        }
        for _ in 0..left {
            hoard.pop().expect("there are more");
        }
        Self(hoard)
    }
}
