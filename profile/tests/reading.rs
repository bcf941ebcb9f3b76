//! Reading many profiles together.

#![cfg(feature = "reader")]

mod common;

use common::builder;
use tachograph_profile::reader::{Merger, Selection};
use tachograph_profile::{
    ErrorKind, Labels, LoadedModules, Module, Names, Profile, Segment, proto,
};

/// A profile of a program that was loaded at `base`.
fn loaded_at(base: u64, task: &str) -> Profile {
    let text = Segment {
        start: base + 0x1000,
        end: base + 0x9000,
        file_offset: 0x1000,
    };
    let main = Module::new("/bin/app", base, [text])
        .with_build_id("c0ffee")
        .with_file(None);
    let mut builder = builder();
    let labels = Labels {
        thread: Some("worker"),
        task: Some(task),
    };
    builder.add(&[base + 0x1234, base + 0x2001], labels, 3);
    builder.add(&[base + 0x1300], Labels::default(), 1);
    builder.finish(&LoadedModules::new(main, []), Names::SymbolTable, None)
}

fn merged(profiles: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    for profile in profiles {
        merger.add(profile).expect("alike");
    }
    merger.finish().expect("some")
}

#[test]
fn equal_stacks_add_up_wherever_the_program_was_loaded() {
    let both = merged(&[loaded_at(0x10_0000, "index"), loaded_at(0x7f_0000, "index")]);
    let counts: Vec<_> = both.samples().map(|it| it.value("samples")).collect();
    assert_eq!(both.mappings().len(), 1);
    assert_eq!(both.tables().location.len(), 3);
    assert_eq!(counts.iter().flatten().sum::<i64>(), 8);
    assert_eq!(counts.len(), 2);
}

#[test]
fn other_labels_stay_apart() {
    let both = merged(&[loaded_at(0x10_0000, "index"), loaded_at(0x10_0000, "query")]);
    let tasks = both.by_label("task", "samples");
    let tasks: Vec<_> = tasks.into_iter().collect();
    assert_eq!(
        tasks,
        [
            (None, 2),
            (Some("index".to_owned()), 3),
            (Some("query".to_owned()), 3)
        ]
    );
}

#[test]
fn other_sample_types_are_refused_and_nothing_of_them_is_added() {
    let mut message = loaded_at(0x10_0000, "index").into_message();
    message.sample_type.swap(0, 1);
    let other = Profile::from_message(message).expect("coherent");
    let mut merger = Merger::default();
    merger
        .add(&loaded_at(0x10_0000, "index"))
        .expect("the first");
    let error = merger
        .add(&other)
        .expect_err("another order is another thing");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(
        error.to_string().contains("cpu/nanoseconds, samples/count"),
        "{error}"
    );
    assert_eq!(merger.finish().expect("one").total("samples"), Some(4));
    assert!(Merger::default().finish().is_none());
}

#[test]
fn what_cancels_out_leaves_no_trace() {
    let mut message = loaded_at(0x10_0000, "index").into_message();
    for sample in &mut message.sample {
        for value in &mut sample.value {
            *value = -*value;
        }
    }
    let negative = Profile::from_message(message).expect("coherent");
    let nothing = merged(&[loaded_at(0x10_0000, "index"), negative]);
    assert_eq!(nothing.samples().len(), 0);
    assert_eq!(nothing.tables().location.len(), 0);
    assert_eq!(nothing.mappings().len(), 1, "the main binary stays");
}

#[test]
fn selections_are_by_label_and_by_any_frame() {
    let profile = loaded_at(0x10_0000, "index");
    let counted = |selection: &Selection| {
        let is_chosen = selection.of(&profile);
        let chosen = profile.samples().filter(|it| is_chosen(it));
        chosen.filter_map(|it| it.value("samples")).sum::<i64>()
    };
    let labelled = |text: &str| Selection {
        labels: vec![("task".to_owned(), text.to_owned())],
        ..Default::default()
    };
    assert_eq!(counted(&Selection::default()), 4);
    assert_eq!(counted(&labelled("index")), 3);
    assert_eq!(counted(&labelled("ind")), 0);
    let focus = |part: &'static str| Selection {
        focus: Some(Box::new(move |text| text.contains(part))),
        ..Default::default()
    };
    let ignore = |part: &'static str| Selection {
        ignore: Some(Box::new(move |text| text.contains(part))),
        ..Default::default()
    };
    assert_eq!(counted(&focus("0x2000")), 3, "a caller counts");
    assert_eq!(counted(&focus("/bin/app")), 4, "the binary's path counts");
    assert_eq!(counted(&ignore("0x1300")), 3);
    let chosen = loaded_at(0x10_0000, "index").retained(&ignore("0x1300"));
    assert_eq!(chosen.total("samples"), Some(3));
}

/// A profile of stacks of bare functions, leaf first, each with a count of 1.
fn stacks(stacks: &[&[&[&str]]]) -> Profile {
    let mut message = proto::Profile {
        sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }],
        string_table: ["", "samples", "count"].map(str::to_owned).to_vec(),
        ..Default::default()
    };
    for stack in stacks {
        let mut location_id = Vec::new();
        for lines in *stack {
            let line = lines
                .iter()
                .map(|name| {
                    message.string_table.push((*name).to_owned());
                    let id = message.function.len() as u64 + 1;
                    message.function.push(proto::Function {
                        id,
                        name: message.string_table.len() as i64 - 1,
                        ..Default::default()
                    });
                    proto::Line {
                        function_id: id,
                        ..Default::default()
                    }
                })
                .collect();
            let id = message.location.len() as u64 + 1;
            location_id.push(id);
            message.location.push(proto::Location {
                id,
                line,
                ..Default::default()
            });
        }
        message.sample.push(proto::Sample {
            location_id,
            value: vec![1],
            ..Default::default()
        });
    }
    Profile::from_message(message).expect("coherent")
}

#[test]
fn frames_are_dropped_from_the_outermost_match_that_somebody_called() {
    let profile = stacks(&[
        &[&["lock"], &["malloc"], &["user"], &["main"]],
        &[&["lock", "malloc"], &["main"]],
        // The match is inlined into what is to be seen.
        &[&["lock", "malloc", "user"], &["main"]],
        // Nobody called it.
        &[&["user"], &["malloc"]],
        &[&["user"], &["main"]],
    ]);
    let pruned = profile.pruned(|name| name == "malloc");
    let left: Vec<Vec<&str>> = pruned.samples().map(|it| it.stack().collect()).collect();
    assert_eq!(
        left,
        [
            vec!["user", "main"],
            vec!["main"],
            vec!["user", "main"],
            vec!["user", "malloc"],
            vec!["user", "main"],
        ]
    );
}
