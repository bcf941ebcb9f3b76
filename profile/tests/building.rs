//! What a builder makes of stacks, on made-up modules.

mod common;

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use common::{builder, stack};
use tachograph_profile::{
    Labels, LoadedModules, Module, Names, Profile, ProfileBuilder, ProfileMeta, Segment,
};

const NO_LABELS: Labels<'_> = Labels {
    thread: None,
    task: None,
};

fn segment(start: u64, end: u64, file_offset: u64) -> Segment {
    Segment {
        start,
        end,
        file_offset,
    }
}

/// `/bin/app` with two segments at a base of 0x10000 and `/lib/libfoo.so.6` at
/// 0x50000, both without files to read.
fn modules(slide: u64) -> LoadedModules {
    let at = |address: u64| address + slide;
    let main = Module::new(
        "/bin/app",
        at(0x10000),
        [
            segment(at(0x11000), at(0x12000), 0x1000),
            segment(at(0x14000), at(0x15000), 0x3000),
        ],
    )
    .with_file(None)
    .with_build_id("aabb");
    let lib = Module::new(
        "/lib/libfoo.so.6",
        at(0x50000),
        [segment(at(0x50000), at(0x52000), 0)],
    )
    .with_file(None);
    LoadedModules::new(main, [lib])
}

fn finish(builder: ProfileBuilder) -> Profile {
    builder.finish(&modules(0), Names::SymbolTable, None)
}

#[test]
fn says_what_the_format_asks_for() {
    let mut builder = builder();
    builder.add(&[0x11010], NO_LABELS, 2);
    let profile = finish(builder);
    let types: Vec<_> = profile.sample_types().collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    let message = profile.to_message();
    let text = |number: i64| message.string_table[number as usize].as_str();
    assert_eq!(message.string_table[0], "");
    assert_eq!(text(message.default_sample_type), "cpu");
    let period_type = message.period_type.expect("a period type");
    assert_eq!(
        (text(period_type.r#type), text(period_type.unit)),
        ("cpu", "nanoseconds")
    );
    assert_eq!(message.period, 10_000_000);
    assert_eq!(message.time_nanos, 1_700_000_000_123_456_789);
    assert_eq!(message.duration_nanos, 30_250_000_000);
    assert_eq!(
        profile.started_at(),
        Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789))
    );
    assert_eq!(profile.duration(), Duration::from_millis(30_250));
    let strings: HashSet<_> = message.string_table.iter().collect();
    assert_eq!(strings.len(), message.string_table.len(), "each text once");
}

#[test]
fn equal_stacks_with_equal_labels_are_one_sample() {
    let on = |thread, task| Labels { thread, task };
    let mut builder = builder();
    builder.add(&[0x11010, 0x11021], on(Some("a"), None), 1);
    builder.add(&[0x11010, 0x11021], on(None, Some("a")), 1);
    builder.add(&[0x11010, 0x11021], on(Some("a"), None), 4);
    builder.add(&[0x11010, 0x11022], on(Some("a"), None), 1);
    builder.add(&[0x11010, 0x11022], NO_LABELS, 0);
    let profile = finish(builder);
    assert_eq!(profile.samples().len(), 3);
    assert_eq!(profile.total("samples"), Some(7));
    assert_eq!(profile.total("cpu"), Some(70_000_000));
    assert_eq!(profile.total("wall"), None);
    let by_thread = profile.by_label("thread", "samples");
    assert_eq!(by_thread[&Some("a".to_owned())], 6);
    assert_eq!(by_thread[&None], 1);
    let by_task = profile.by_label("task", "cpu");
    assert_eq!(by_task[&Some("a".to_owned())], 10_000_000);
    assert_eq!(by_task[&None], 60_000_000);
    assert!(profile.by_label("task", "wall").is_empty());
    let samples = profile.to_message().sample;
    let labels: usize = samples.iter().map(|it| it.label.len()).sum();
    assert_eq!(labels, 3, "labels that were not given are not there");
}

#[test]
fn callers_are_moved_into_their_calls_and_the_leaf_is_not() {
    let mut builder = builder();
    // A return address at the very end of a segment belongs to a call inside it.
    builder.add(&[0x11010, 0x11010, 0x12000], NO_LABELS, 1);
    let profile = finish(builder);
    let sample = profile.samples().next().expect("one sample");
    let addresses: Vec<u64> = sample.frames().map(|frame| frame.address()).collect();
    assert_eq!(addresses, [0x11010, 0x1100f, 0x11fff]);
    assert_eq!(
        stack(&profile, 0),
        ["app+0x1010", "app+0x100f", "app+0x1fff"]
    );
}

#[test]
fn the_same_address_reached_in_both_ways_is_one_location() {
    let mut builder = builder();
    builder.add(&[0x11010], NO_LABELS, 1);
    builder.add(&[0x11050, 0x11011], NO_LABELS, 1);
    let profile = finish(builder);
    assert_eq!(profile.tables().location.len(), 2);
}

#[test]
fn placeholders_are_the_same_wherever_the_system_loads_the_module() {
    let names = |slide: u64| {
        let mut builder = builder();
        let stack = [0x50123, 0x14011, 0x9_0000].map(|address| address + slide);
        builder.add(&stack, NO_LABELS, 1);
        let profile = builder.finish(&modules(slide), Names::Debug, None);
        for mapping in profile.mappings() {
            assert!(!mapping.message().has_functions);
        }
        stack_of(&profile)
    };
    assert_eq!(names(0), ["libfoo.so.6+0x123", "app+0x4010", "[unknown]"]);
    assert_eq!(names(0), names(0x7f00_0000_0000));

    fn stack_of(profile: &Profile) -> Vec<String> {
        stack(profile, 0).into_iter().map(str::to_owned).collect()
    }
}

#[test]
fn the_main_binary_is_mapping_1_even_when_it_was_not_hit() {
    for hits in [
        &[][..],
        &[0x50010],
        &[0x14010],
        &[0x14010, 0x50010, 0x11010],
    ] {
        let mut builder = builder();
        for &hit in hits {
            builder.add(&[hit], NO_LABELS, 1);
        }
        let profile = finish(builder);
        let main = profile.mappings().next().expect("always there");
        assert_eq!((main.path(), main.build_id()), ("/bin/app", Some("aabb")));
        let message = main.message();
        assert_eq!(message.id, 1);
        assert_eq!(
            (
                message.memory_start,
                message.memory_limit,
                message.file_offset
            ),
            (0x11000, 0x12000, 0x1000)
        );
        let hit_elsewhere = hits.iter().filter(|&&it| !(0x11000..0x12000).contains(&it));
        assert_eq!(profile.mappings().len(), 1 + hit_elsewhere.count());
    }
}

#[test]
fn segments_of_one_module_are_mappings_of_their_own() {
    let mut builder = builder();
    builder.add(&[0x11010, 0x14011, 0x50001], NO_LABELS, 1);
    let profile = finish(builder);
    let shown: Vec<_> = profile
        .mappings()
        .map(|it| {
            (
                it.message().id,
                it.path(),
                it.build_id(),
                it.message().memory_start,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (1, "/bin/app", Some("aabb"), 0x11000),
            (2, "/bin/app", Some("aabb"), 0x14000),
            (3, "/lib/libfoo.so.6", None, 0x50000),
        ]
    );
    let sample = profile.samples().next().expect("one sample");
    let mappings: Vec<u64> = sample
        .frames()
        .filter_map(|frame| frame.mapping())
        .map(|mapping| mapping.message().id)
        .collect();
    assert_eq!(mappings, [1, 2, 3]);
}

#[test]
fn a_sample_without_stack_counts() {
    let mut builder = builder();
    let labels = Labels {
        thread: Some("worker"),
        task: None,
    };
    builder.add(&[], labels, 3);
    builder.add(&[], NO_LABELS, 1);
    builder.add(&[0], NO_LABELS, 1);
    let profile = finish(builder);
    assert_eq!(profile.total("samples"), Some(5));
    assert_eq!(stack(&profile, 0), ["[no stack]"]);
    assert_eq!(stack(&profile, 1), ["[no stack]"]);
    assert_eq!(stack(&profile, 2), ["[unknown]"]);
    assert_eq!(
        profile.samples().nth(1).and_then(|it| it.label("thread")),
        Some("worker")
    );
    let frame = profile.samples().next().and_then(|it| it.frames().next());
    assert!(frame.expect("a frame").mapping().is_none());
}

#[test]
fn measured_cpu_time_scales_time_and_never_counts() {
    let mut builder = builder();
    for number in 0..997 {
        builder.add(&[0x11000 + number], NO_LABELS, 1 + number % 7);
    }
    let cpu = Duration::from_nanos(31_415_926_535);
    let counts = finish(builder.clone());
    let profile = builder.finish(&modules(0), Names::SymbolTable, Some(cpu));
    assert_eq!(profile.total("cpu"), Some(31_415_926_535));
    assert_eq!(profile.total("samples"), counts.total("samples"));
    for (scaled, counted) in profile.samples().zip(counts.samples()) {
        assert_eq!(scaled.value("samples"), counted.value("samples"));
    }
}

#[test]
fn a_frequency_of_0_is_survived() {
    let mut builder = ProfileBuilder::new(ProfileMeta {
        started_at: SystemTime::UNIX_EPOCH - Duration::from_secs(1),
        duration: Duration::MAX,
        frequency_hz: 0,
    });
    builder.add(&[0x11010], NO_LABELS, u64::MAX);
    builder.add(&[0x11010], NO_LABELS, u64::MAX);
    let profile = finish(builder);
    assert_eq!(profile.tables().period, 0);
    assert_eq!(profile.total("cpu"), Some(0));
    assert_eq!(profile.total("samples"), Some(i64::MAX));
    assert_eq!(profile.tables().duration_nanos, i64::MAX);
    assert_eq!(
        profile.started_at(),
        Some(SystemTime::UNIX_EPOCH - Duration::from_secs(1))
    );
}

#[test]
fn the_order_of_adding_does_not_matter() {
    let samples = [
        (vec![0x11010, 0x50021], Some("b")),
        (vec![0x50010], None),
        (vec![], Some("a")),
        (vec![0x11010, 0x50021], Some("a")),
    ];
    let profile = |order: &[usize]| {
        let mut builder = builder();
        for &number in order {
            let (stack, thread) = &samples[number];
            let labels = Labels {
                thread: *thread,
                task: None,
            };
            builder.add(stack, labels, 1);
        }
        finish(builder)
    };
    assert_eq!(profile(&[0, 1, 2, 3]), profile(&[3, 1, 0, 2]));
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf_8_is_shown_as_well_as_can_be() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = OsStr::from_bytes(b"/bin/ap\xffp");
    let main = Module::new(path, 0, [segment(0x1000, 0x2000, 0)]).with_file(None);
    let mut builder = builder();
    builder.add(&[0x1010], NO_LABELS, 1);
    let profile = builder.finish(&LoadedModules::new(main, []), Names::SymbolTable, None);
    assert_eq!(stack(&profile, 0), ["ap\u{fffd}p+0x1010"]);
    assert_eq!(
        profile.mappings().next().map(|it| it.path()),
        Some("/bin/ap\u{fffd}p")
    );
}
