use std::collections::BTreeMap;
use std::hint::black_box;

use tachograph_profile::{ErrorKind, Profile};

/// The limit that profiles are decoded with here.
pub const UNCOMPRESSED_MAX: u64 = 64 << 10;

/// A profile, compressed or not.
///
/// What was decoded and is encoded decodes as the same. Everything that can be
/// asked of a profile has an answer, and answers about parts add up to those
/// about the whole.
pub fn profile(input: &[u8]) {
    let profile = match Profile::decode(input, UNCOMPRESSED_MAX) {
        Ok(profile) => profile,
        Err(error) => {
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Malformed | ErrorKind::TooLarge));
            assert!(!format!("{error:#}").is_empty());
            return;
        }
    };
    let mut bytes = Vec::new();
    profile.encode_gz(&mut bytes).expect("a vector takes all");
    // Numbers may have been written longer than they need be.
    let again = Profile::decode(&bytes, u64::MAX).expect("it was written by us");
    assert!(again == profile);
    let copy = Profile::from_message(profile.to_message()).expect("it is coherent");
    assert!(copy == profile);

    look_at(&profile);
}

/// Asks for all that there is.
fn look_at(profile: &Profile) {
    assert!(profile.sample_types().len() > 0);
    black_box((profile.started_at(), profile.duration()));
    for comment in profile.comments() {
        assert!(comment.len() as u64 <= UNCOMPRESSED_MAX);
    }
    for mapping in profile.mappings() {
        black_box((mapping.path(), mapping.build_id()));
    }
    let types: Vec<&str> = profile.sample_types().map(|(name, _)| name).collect();
    for name in &types {
        let total = profile.total(name).expect("it has this type");
        let by_label = profile.by_label("task", name);
        if is_far_from_overflow(profile, name) {
            assert_eq!(by_label.values().sum::<i64>(), total);
        }
    }
    let mut labels = BTreeMap::<_, usize>::new();
    for sample in profile.samples() {
        for name in &types {
            assert!(sample.value(name).is_some());
        }
        *labels.entry(sample.label("task")).or_default() += 1;
        // As many as a viewer would show at once: locations that stand for
        // many functions each multiply.
        for frame in sample.frames().take(1000) {
            let place = frame.mapping().map(|mapping| mapping.path());
            black_box((frame.function(), frame.system_name(), place));
            black_box((frame.file(), frame.address()));
            assert!(frame.line().is_none_or(|line| line > 0));
        }
    }
    assert_eq!(labels.values().sum::<usize>(), profile.samples().len());
}

pub(crate) fn is_far_from_overflow(profile: &Profile, name: &str) -> bool {
    let each = i64::MAX / (profile.samples().len() as i64 + 1);
    profile
        .samples()
        .filter_map(|sample| sample.value(name))
        .all(|value| value.unsigned_abs() < each.unsigned_abs())
}
