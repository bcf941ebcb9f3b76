//! What the page holds is what was recorded, to the last nanosecond, and it grows no
//! faster than what was recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::page::{Desk, Row};
use crate::recording::{Capture, Sample, morning};
use crate::three_days;

/// The samples of a capture as rows of a page: each stack with its labels once.
fn rows_of(capture: &Capture) -> Vec<Row> {
    let mut sums: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    for it in &capture.samples {
        let key = (it.stack.clone(), it.task.clone(), it.thread.clone());
        let sum = sums.entry(key).or_default();
        sum.0 += it.count;
        sum.1 += it.nanos;
    }
    sums.into_iter()
        .map(|((stack, task, thread), (count, nanos))| Row {
            stack,
            task,
            thread,
            count,
            nanos,
        })
        .collect()
}

#[test]
fn every_capture_is_on_the_page_with_all_of_its_samples() {
    let desk = Desk::new();
    let captures = three_days::write(&desk.recorded());
    let said = desk.report(1);
    assert_eq!(
        said.lines().count(),
        1,
        "only the file that was cut short: {said}"
    );

    let model = desk.model();
    let stacks = model.stacks();
    assert_eq!(model.captures().len(), captures.len());
    for (on_page, capture) in model.captures().iter().zip(&captures) {
        assert_eq!(model.rows(on_page, &stacks), rows_of(capture));
        assert_eq!(on_page["cpu"], json!(capture.nanos()));
        assert_eq!(on_page["samples"], capture.sidecar["Samples"]);
        assert_eq!(on_page["lost"], capture.sidecar["Lost"]);
        assert_eq!(on_page["wall"], json!(30.0));
        assert_eq!(
            model.text(&on_page["reason"]),
            capture.sidecar["Reason"].as_str().map(str::to_owned)
        );
        let triggered = capture.sidecar["Reason"] != "periodic";
        assert_eq!(on_page["triggered"], json!(triggered));
    }
    let notes = model.json["notes"].as_array().expect("notes");
    let kinds: Vec<_> = notes
        .iter()
        .map(|it| it["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["unfinished", "bad"]);
    assert!(
        notes[1]["text"]
            .as_str()
            .expect("a text")
            .contains("cut short")
    );
}

#[test]
fn gaps_are_told_with_their_causes() {
    let desk = Desk::new();
    let captures = three_days::write(&desk.recorded());
    desk.report(1);
    let model = desk.model();
    let gaps = model.json["gaps"].as_array().expect("gaps");
    let count = |kind: &str| {
        let whys = gaps
            .iter()
            .flat_map(|gap| gap["why"].as_array().expect("causes"));
        whys.filter(|why| why["kind"] == kind).count()
    };
    let dropped = captures
        .iter()
        .filter(|it| it.sidecar["Requests"]["Cooldown"] != json!(0));
    assert_eq!(count("dropped"), dropped.count());
    assert_eq!(count("restarted"), 2, "once down, once deployed");
    assert_eq!(count("rebuilt"), 1);
    assert_eq!(count("long"), 1);
}

#[test]
fn samples_that_are_equal_are_one_row_and_those_without_a_stack_count() {
    let sample = |stack: &[&str], task: Option<&str>, count| Sample {
        stack: stack.iter().map(|&it| it.to_owned()).collect(),
        task: task.map(str::to_owned),
        thread: None,
        count,
        nanos: count * 10_000_000,
    };
    let samples = vec![
        sample(&["main", "app::work"], Some("job"), 3),
        sample(&["main", "app::work"], Some("job"), 4),
        sample(&["main", "app::work"], None, 5),
        sample(&["main", "app::work", "app::work"], None, 6),
        sample(&[], None, 7),
    ];
    let desk = Desk::new();
    Capture::new(morning(), Duration::from_secs(5), "periodic", samples).write(&desk.recorded());
    desk.report(0);
    let model = desk.model();
    let rows = model.rows(&model.captures()[0], &model.stacks());
    let row = |stack: &[&str], task: Option<&str>, count| {
        let it = sample(stack, task, count);
        Row {
            stack: it.stack,
            task: it.task,
            thread: None,
            count,
            nanos: it.nanos,
        }
    };
    let mut expected = vec![
        row(&["[no stack]"], None, 7),
        row(&["main", "app::work"], None, 5),
        row(&["main", "app::work"], Some("job"), 7),
        row(&["main", "app::work", "app::work"], None, 6),
    ];
    expected.sort();
    assert_eq!(rows, expected);
}

/// A capture of so many samples, with stacks as deep and as alike as those of services.
fn large(number: u64, samples: u64) -> Capture {
    let samples = (0..samples)
        .map(|it| {
            let it = it.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let stack =
                (0..24).map(|depth| format!("app::level_{depth}::f{}", (it >> (depth / 2)) % 7));
            Sample {
                stack: stack.collect(),
                task: Some(format!("task-{}", it % 5)),
                thread: Some(format!("worker-{}", it % 4)),
                count: 1,
                nanos: 10_000_000,
            }
        })
        .collect();
    let start = morning() + Duration::from_secs(number * 600);
    Capture::new(start, Duration::from_secs(30), "periodic", samples)
}

#[test]
fn a_page_grows_with_its_captures_and_no_faster() {
    let size = |captures: u64| {
        let desk = Desk::new();
        for number in 0..captures {
            large(number, 500).write(&desk.recorded());
        }
        desk.report(0);
        let model = desk.model();
        let stacks = model.json["stacks"]["up"].as_array().expect("stacks").len();
        (model.plain_bytes, model.page_bytes, stacks)
    };
    let (plain_few, page_few, stacks_few) = size(10);
    let (plain_many, page_many, stacks_many) = size(100);
    assert_eq!(stacks_many, stacks_few, "captures share their stacks");
    assert!(
        plain_many < 10 * plain_few,
        "{plain_few} and {plain_many} bytes"
    );
    assert!(
        page_many < 10 * page_few,
        "{page_few} and {page_many} bytes"
    );
    // Packed, a row of a capture takes a few bytes.
    assert!(page_many < 100 * 500 * 8, "{page_many} bytes");
}
