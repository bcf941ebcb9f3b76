use tachograph_profile::reader::{
    CallTree, Caps, FrameSet, Granularity, Matcher, Merger, Selection, Table,
};
use tachograph_profile::{ErrorKind, Profile};

use crate::profile::{UNCOMPRESSED_MAX, is_far_from_overflow};

/// The memory that a profile may take here, in bytes.
const MEMORY_MAX: u64 = 8 << 20;

/// More frames than these in all stacks together are left to the reader's own limit:
/// following them takes longer than the fuzzer waits.
const FRAMES_MAX: u64 = 1 << 20;

/// What the command does with a profile, compressed or not.
///
/// Looking through it first refuses no more than the memory it would take. Tables,
/// trees, selections, pruning and merging neither make nor lose anything.
pub fn reader(input: &[u8]) {
    let caps = Caps {
        uncompressed: UNCOMPRESSED_MAX,
        memory: MEMORY_MAX,
    };
    let profile = match Profile::decode_within(input, caps) {
        Ok(profile) => profile,
        Err(error) => {
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Malformed | ErrorKind::TooLarge));
            return;
        }
    };
    let again = Profile::decode(input, UNCOMPRESSED_MAX).expect("it was decoded before");
    assert!(again == profile);
    if frames_at_most(&profile) > FRAMES_MAX {
        return;
    }
    let types: Vec<String> = profile
        .sample_types()
        .map(|(name, _)| name.to_owned())
        .collect();
    let types = types
        .into_iter()
        .filter(|name| is_far_from_overflow(&profile, name))
        .collect::<Vec<_>>();
    sums(&profile, &types);
    parts(&profile, &types);
    merged(&profile, &types);
}

fn frames_at_most(profile: &Profile) -> u64 {
    let message = profile.to_message();
    let lines = message.location.iter().map(|it| it.line.len().max(1));
    let references: usize = message.sample.iter().map(|it| it.location_id.len()).sum();
    lines.max().unwrap_or(0) as u64 * references as u64
}

/// Tables and trees have all of it, and no frame has more than there is.
fn sums(profile: &Profile, types: &[String]) {
    let mut frames = FrameSet::new(Granularity::Functions);
    let mut lines = FrameSet::new(Granularity::Lines);
    for set in [&mut frames, &mut lines] {
        let stacks = set
            .take_in(profile, |_, _| true)
            .expect("there are few frames");
        for name in types {
            let mut table = Table::default();
            let mut tree = CallTree::<1>::default();
            let mut empty = 0;
            for sample in profile.samples() {
                let value = sample.value(name).expect("it has this type");
                let stack: Vec<u32> = stacks.of(&sample).collect();
                if stack.is_empty() {
                    empty += value;
                }
                table.add(stack.iter().copied(), value);
                tree.add(stack.into_iter().rev(), 0, value)
                    .expect("there are few frames");
            }
            let total = profile.total(name).expect("it has this type");
            assert_eq!(table.total(), total);
            assert_eq!(tree.total(CallTree::<1>::ROOT), [total]);
            let rows = table.rows(set);
            assert_eq!(rows.iter().map(|row| row.own).sum::<i64>() + empty, total);
            for row in rows {
                assert!(row.cumulative.abs() <= table.magnitude());
                assert!((row.frame as usize) < set.len());
            }
        }
    }
}

/// What has a frame and what has none are all there is, and pruning takes no sample.
fn parts(profile: &Profile, types: &[String]) {
    let matcher = || Some(Box::new(|name: &str| name.len().is_multiple_of(2)) as Matcher);
    let with = Selection {
        focus: matcher(),
        ..Selection::default()
    };
    let without = Selection {
        ignore: matcher(),
        ..Selection::default()
    };
    let with = profile.clone().retained(&with);
    let without = profile.clone().retained(&without);
    let pruned = profile.clone().pruned(|name| name.len().is_multiple_of(2));
    for name in types {
        let total = profile.total(name);
        let both = with.total(name).zip(without.total(name));
        assert_eq!(both.map(|(with, without)| with + without), total);
        assert_eq!(pruned.total(name), total);
    }
}

/// Twice the same is twice as much, and can be written and read back.
fn merged(profile: &Profile, types: &[String]) {
    let mut merger = Merger::default();
    merger.add(profile).expect("it is the first");
    merger.add(profile).expect("it is like the first");
    let merged = merger.finish().expect("two were added");
    for name in types {
        let total = profile.total(name).expect("it has this type");
        if total.unsigned_abs() < i64::MAX.unsigned_abs() / 2 {
            assert_eq!(merged.total(name), Some(2 * total));
        }
    }
    let mut bytes = Vec::new();
    merged.encode_gz(&mut bytes).expect("a vector takes all");
    let again = Profile::decode(&bytes, u64::MAX).expect("it was written by us");
    assert!(again == merged);
}
