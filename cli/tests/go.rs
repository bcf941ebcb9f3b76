//! `top` and `merge` beside `go tool pprof`, to the sample.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{data, go, pprof, printed, profiles};
use prost::Message as _;
use serde_json::Value;
use tachograph_profile::{Profile, proto};

/// Own and cumulative sums by name.
type Sums = BTreeMap<String, (i64, i64)>;

/// What `top` says of `paths`, under the names that Go prints.
fn ours(paths: &[PathBuf], value: &str, more: &[&str]) -> (i64, Sums) {
    let mut arguments = vec!["top", "--no-local-binaries", "--json", "--value", value];
    arguments.extend(more);
    let paths = paths.iter().map(|path| path.to_str().expect("UTF-8"));
    arguments.extend(paths);
    let report: Value = serde_json::from_str(&printed(arguments)).expect("JSON");
    let mut sums = Sums::new();
    for row in report["tables"][0]["rows"].as_array().expect("rows") {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let number = |key: &str| row[key].as_i64().expect("a number");
        let mut name = vec![text("function").to_owned()];
        match (row["line"].as_i64(), text("file"), text("module")) {
            (Some(line), file, _) => name.push(format!("{file}:{line}")),
            (None, "", module) if name[0].is_empty() => {
                let file = module.rsplit('/').next().unwrap_or_default();
                let shown = match file {
                    "" => "<unknown>".to_owned(),
                    file => format!("[{file}]"),
                };
                name.push(shown);
            }
            (None, "", _) => {}
            (None, file, _) => name.push(file.to_owned()),
        }
        name.retain(|it| !it.is_empty());
        let sum = sums.entry(name.join(" ")).or_default();
        sum.0 += number("self");
        sum.1 += number("total");
    }
    (report["total"].as_i64().expect("a number"), sums)
}

/// What Go says, which has rounded nothing when the unit is the profile's own.
fn theirs(go: &Path, paths: &[PathBuf], value: &str, unit: &str, more: &[&str]) -> Sums {
    let mut arguments = vec![
        "-top".to_owned(),
        "-nodecount=0".to_owned(),
        "-nodefraction=0".to_owned(),
        format!("-sample_index={value}"),
        format!("-unit={unit}"),
    ];
    arguments.extend(more.iter().map(|&it| it.to_owned()));
    let paths = paths.iter().map(|path| path.to_str().expect("UTF-8"));
    arguments.extend(paths.map(str::to_owned));
    let printed = String::from_utf8(pprof(go, arguments)).expect("UTF-8");
    let mut rows = printed.lines().skip_while(|it| !it.contains("flat%"));
    rows.next().expect("a heading");
    let mut sums = Sums::new();
    for row in rows {
        let mut words = row.split_whitespace();
        let own = number(words.next().expect("flat"));
        words.next();
        words.next();
        let cumulative = number(words.next().expect("cum"));
        words.next();
        let name: Vec<&str> = words.collect();
        let name = name.join(" ");
        let name = name.trim_end_matches(" (inline)");
        let name = name.trim_end_matches(" (partial-inline)");
        let sum = sums.entry(name.to_owned()).or_default();
        sum.0 += own;
        sum.1 += cumulative;
    }
    sums
}

/// A number with its unit behind it.
fn number(text: &str) -> i64 {
    let digits: String = text
        .chars()
        .take_while(|it| it.is_ascii_digit() || matches!(it, '-' | '.'))
        .collect();
    let number: f64 = digits.parse().expect("a number");
    assert_eq!(number.fract(), 0.0, "{text} was rounded");
    number as i64
}

/// The units of Go's flag by those of profiles.
fn flag(unit: &str) -> &str {
    match unit {
        "nanoseconds" => "ns",
        "microseconds" => "us",
        "bytes" => "B",
        unit => unit,
    }
}

fn decoded(path: &Path) -> Profile {
    let bytes = std::fs::read(path).expect("it can be read");
    Profile::decode(&bytes, 1 << 30).expect("a profile")
}

#[test]
fn top_counts_as_go_does() {
    let Some(go) = go("the comparison of top") else {
        return;
    };
    let all = profiles();
    assert!(all.len() >= 10, "{all:?}");
    let mut compared = 0;
    for path in &all {
        for (value, unit) in decoded(path).sample_types() {
            for more in [(&[][..], &[][..]), (&["--lines"], &["-lines"])] {
                let paths = [path.clone()];
                let (_, ours) = ours(&paths, value, more.0);
                let theirs = theirs(&go, &paths, value, flag(unit), more.1);
                assert_eq!(ours, theirs, "{} {value} {more:?}", path.display());
                compared += usize::from(!ours.is_empty());
            }
        }
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn focus_and_ignore_choose_what_go_chooses() {
    let Some(go) = go("the comparison of --focus and --ignore") else {
        return;
    };
    let path = [data("foreign/go-cpu.pb.gz")];
    for (ours_flags, theirs_flags) in [
        (&["--focus", "hash|sha256"][..], &["-focus=hash|sha256"][..]),
        (&["--ignore", "^main\\.fib$"], &["-ignore=^main\\.fib$"]),
        (
            &["--focus", "main", "--ignore", "runtime/.*\\.s$"],
            &["-focus=main", "-ignore=runtime/.*\\.s$"],
        ),
        (&["--task", "fib"], &["-tagfocus=task=^fib$"]),
    ] {
        let (total, ours) = ours(&path, "cpu", ours_flags);
        let theirs = theirs(&go, &path, "cpu", "ns", theirs_flags);
        assert!(total > 0, "{ours_flags:?} chooses nothing");
        assert_eq!(ours, theirs, "{ours_flags:?}");
    }
}

#[test]
fn frames_are_dropped_that_go_drops() {
    let Some(go) = go("the comparison of drop_frames") else {
        return;
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (number, (drop, keep)) in [
        ("runtime\\..*|compress/.*", ""),
        ("compress/.*|bytes\\..*", ".*addBlock|.*growSlice"),
        ("(", ""),
        ("main\\.words|a)|(b", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let mut message = decoded(&data("foreign/go-heap.pb.gz")).into_message();
        for (text, place) in [
            (drop, &mut message.drop_frames),
            (keep, &mut message.keep_frames),
        ] {
            if !text.is_empty() {
                *place = message.string_table.len() as i64;
                message.string_table.push(text.to_owned());
            }
        }
        let path = [directory.path().join(format!("{number}.pb"))];
        std::fs::write(&path[0], message.encode_to_vec()).expect("write");
        let (_, ours) = ours(&path, "alloc_space", &[]);
        let theirs = theirs(&go, &path, "alloc_space", "B", &[]);
        assert_eq!(ours, theirs, "{drop:?} {keep:?}");
    }
}

#[test]
fn many_profiles_add_up_as_with_go() {
    let Some(go) = go("the comparison of merge") else {
        return;
    };
    let of = |directory: &str| -> Vec<PathBuf> {
        let all = profiles().into_iter();
        all.filter(|it| it.starts_with(data(directory))).collect()
    };
    let both = [of("service"), of("service_smol")].concat();
    let heap = vec![data("foreign/go-heap.pb.gz"), data("foreign/go-heap.pb.gz")];
    let go_cpu = vec![data("foreign/go-cpu.pb.gz"), data("foreign/go-cpu.pb.gz")];
    let contention = vec![
        data("foreign/go-mutex.pb.gz"),
        data("foreign/go-block.pb.gz"),
    ];
    for paths in [of("service"), both, heap, go_cpu, contention] {
        assert!(paths.len() > 1, "{paths:?}");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let merged = directory.path().join("merged.pb.gz");
        let mut arguments = vec!["merge", "-o", merged.to_str().expect("UTF-8")];
        arguments.extend(paths.iter().map(|path| path.to_str().expect("UTF-8")));
        printed(arguments);
        let ours = decoded(&merged);

        let mut arguments = vec!["-proto".to_owned(), "-output=/dev/stdout".to_owned()];
        let names = paths.iter().map(|path| path.to_str().expect("UTF-8"));
        arguments.extend(names.map(str::to_owned));
        let theirs = Profile::decode(&pprof(&go, arguments), 1 << 30).expect("a profile");
        assert_eq!(canonical(&ours), canonical(&theirs), "{paths:?}");
    }
}

/// All that a profile says, without numbers that only refer, and sorted.
fn canonical(profile: &Profile) -> Vec<String> {
    let message = profile.to_message();
    let text = |number: i64| message.string_table[number as usize].as_str();
    let value_type = |it: &proto::ValueType| format!("{}/{}", text(it.r#type), text(it.unit));
    let function = |id: u64| {
        let it = message.function.iter().find(|it| it.id == id);
        it.map(|it| {
            let names = [it.name, it.system_name, it.filename].map(text);
            format!("{names:?} {}", it.start_line)
        })
    };
    let mapping = |it: &proto::Mapping| {
        let flags = [
            it.has_functions,
            it.has_filenames,
            it.has_line_numbers,
            it.has_inline_frames,
        ];
        let range = (it.memory_start, it.memory_limit, it.file_offset);
        format!(
            "{range:x?} {} {} {flags:?}",
            text(it.filename),
            text(it.build_id)
        )
    };
    let location = |id: u64| {
        let it = message.location.iter().find(|it| it.id == id);
        let it = it.expect("it is defined");
        let lines: Vec<_> = it
            .line
            .iter()
            .map(|it| (function(it.function_id), it.line, it.column))
            .collect();
        let at = message
            .mapping
            .iter()
            .find(|other| other.id == it.mapping_id);
        format!(
            "{:x} {:?} {lines:?} {}",
            it.address,
            at.map(mapping),
            it.is_folded
        )
    };
    let sample = |it: &proto::Sample| {
        let stack: Vec<String> = it.location_id.iter().map(|&id| location(id)).collect();
        let mut labels: Vec<_> = it
            .label
            .iter()
            .map(|it| (text(it.key), text(it.str), it.num, text(it.num_unit)))
            .collect();
        labels.sort_by_key(|it| it.0);
        format!("sample {:?} {labels:?} {stack:?}", it.value)
    };
    let mut lines: Vec<String> = message.sample.iter().map(sample).collect();
    lines.extend(
        message
            .mapping
            .iter()
            .map(|it| format!("mapping {}", mapping(it))),
    );
    lines.extend(
        message
            .location
            .iter()
            .map(|it| format!("location {}", location(it.id))),
    );
    lines.extend(
        message
            .function
            .iter()
            .map(|it| format!("function {:?}", function(it.id))),
    );
    lines.sort();
    let types: Vec<String> = message.sample_type.iter().map(value_type).collect();
    let period_type = message.period_type.as_ref().map(value_type);
    lines.push(format!("{types:?} {period_type:?} {}", message.period));
    lines.push(format!("{} {}", message.time_nanos, message.duration_nanos));
    let comments: Vec<&str> = message.comment.iter().map(|&it| text(it)).collect();
    let others = [
        message.drop_frames,
        message.keep_frames,
        message.default_sample_type,
        message.doc_url,
    ];
    lines.push(format!("{comments:?} {:?}", others.map(text)));
    lines
}
