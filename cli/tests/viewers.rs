//! What `convert` writes, read by the viewers it is for.

mod common;
#[path = "common/node.rs"]
mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{data, printed};
use node::{in_browser, node};
use serde_json::Value;

/// The profiles that are converted.
const PROFILES: [(&str, &str); 3] = [
    ("foreign/go-cpu.pb.gz", "cpu"),
    ("foreign/node-heap.pb.gz", "inuse_space"),
    ("service", "cpu"),
];

fn converted(path: &str, format: &str) -> String {
    let path = data(path);
    let path = path.to_str().expect("UTF-8");
    printed(["convert", "--no-local-binaries", "--to", format, path])
}

fn top(path: &str, more: &[&str]) -> Value {
    let path = data(path);
    let path = path.to_str().expect("UTF-8");
    let arguments = ["top", "--no-local-binaries", "--json", path];
    let printed = printed(arguments.iter().chain(more));
    serde_json::from_str(&printed).expect("JSON")
}

/// Own and cumulative sums by the names that are shown.
fn sums(folded: &str) -> BTreeMap<String, (i64, i64)> {
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for line in folded.lines() {
        let (stack, value) = line.rsplit_once(' ').expect("a value");
        let value: i64 = value.parse().expect("a number");
        let mut frames: Vec<&str> = stack.split(';').collect();
        sums.entry(frames[frames.len() - 1].to_owned())
            .or_default()
            .0 += value;
        frames.sort_unstable();
        frames.dedup();
        for frame in frames {
            sums.entry(frame.to_owned()).or_default().1 += value;
        }
    }
    sums
}

#[test]
fn folded_stacks_have_the_total_and_inferno_reads_them() {
    for (path, _) in PROFILES {
        let folded = converted(path, "folded");
        let values = folded
            .lines()
            .map(|it| it.rsplit_once(' ').expect("a value").1);
        let total: i64 = values.map(|it| it.parse::<i64>().expect("a number")).sum();
        assert_eq!(Some(total), top(path, &[])["total"].as_i64(), "{path}");

        let mut options = inferno::flamegraph::Options::default();
        options.count_name = "units".to_owned();
        let mut svg = Vec::new();
        let lines = folded.lines();
        inferno::flamegraph::from_lines(&mut options, lines, &mut svg).expect("it reads them");
        let svg = String::from_utf8(svg).expect("UTF-8");
        let all = format!("all ({} units, 100%)", grouped(total));
        assert!(svg.contains(&all), "{path}: no {all:?}");
    }
}

/// `1,234,567`
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[test]
fn firefox_gets_all_threads_and_all_time() {
    let profile: Value = serde_json::from_str(&converted("service", "firefox")).expect("JSON");
    let threads = profile["threads"].as_array().expect("threads");
    let names: BTreeSet<&str> = threads
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    let by_thread = top("service", &["--by", "thread"]);
    let tables = by_thread["tables"].as_array().expect("tables");
    let expected: BTreeSet<&str> = tables.iter().filter_map(|it| it["text"].as_str()).collect();
    assert!(expected.len() > 1, "{expected:?}");
    assert_eq!(names, expected);
    let mut millis = 0;
    for thread in threads {
        assert_eq!(thread["samples"]["weightType"], "tracing-ms");
        let weights = thread["samples"]["weight"].as_array().expect("weights");
        millis += weights.iter().filter_map(Value::as_i64).sum::<i64>();
    }
    let total = by_thread["total"].as_i64().expect("a number");
    let expected = total / 1_000_000;
    let apart = (millis - expected).abs();
    assert!(apart <= threads.len() as i64, "{millis} ms of {expected}");
}

#[test]
fn the_firefox_profiler_shows_the_same_sums() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("profile.json");
    fs::write(&file, converted("service", "firefox")).expect("write");
    let home = ("HOME", directory.path().as_os_str());
    let package = "@firefox-devtools/profiler-cli";
    let Some(threads) = node("firefox.mjs", package, home, &[file.as_os_str()]) else {
        return;
    };
    let threads = threads.as_array().expect("threads");
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let name = thread["name"].as_str().expect("a name");
        let tables = top("service", &["--by", "thread", "-n", "0"]);
        let tables = tables["tables"].as_array().expect("tables");
        let own = tables.iter().find(|it| it["text"] == name).expect(name);
        // It counts in whole milliseconds; each sample is ten.
        let millis = |it: &Value| it.as_i64().expect("a number") / 1_000_000;
        assert_eq!(thread["cpuMs"], millis(&own["total"]), "{name}");
        let expected: BTreeMap<String, (i64, i64)> = own["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|it| {
                let name = it["function"].as_str().expect("a name").to_owned();
                (name, (millis(&it["self"]), millis(&it["total"])))
            })
            .collect();
        let shown: BTreeMap<String, (i64, i64)> = thread["functions"]
            .as_array()
            .expect("functions")
            .iter()
            .map(|it| {
                let number = |key: &str| it[key].as_i64().expect("a number");
                let name = it["name"].as_str().expect("a name").to_owned();
                (name, (number("selfSamples"), number("totalSamples")))
            })
            .collect();
        assert_eq!(shown.len(), expected.len(), "{name}");
        // Names are shortened there: the sums are compared.
        let sums = |of: &BTreeMap<String, (i64, i64)>| {
            let mut sums: Vec<_> = of.values().copied().collect();
            sums.sort_unstable();
            sums
        };
        assert_eq!(sums(&shown), sums(&expected), "{name}");
    }
}

#[test]
fn speedscope_shows_the_same_sums() {
    for (path, name) in PROFILES {
        let json = converted(path, "speedscope");
        let Some(rows) = shown(&json) else {
            return;
        };
        let file: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(file["profiles"][0]["name"], name);
        let expected = expected(&file);
        assert!(rows.len() >= 5.min(expected.len()), "{path}: {rows:?}");
        for (name, own, total) in &rows {
            let (own_expected, total_expected) = expected[name];
            let whole = file["profiles"][0]["endValue"].as_f64().expect("a number");
            // It shows shares with up to two digits behind the point.
            for (shown, value) in [(own, own_expected), (total, total_expected)] {
                let share = 100.0 * value as f64 / whole;
                assert!(
                    (shown - share).abs() <= 0.51,
                    "{path} {name}: {shown} for {share}"
                );
            }
        }
        let own: i64 = expected.values().map(|it| it.0).sum();
        assert_eq!(Some(own), file["profiles"][0]["endValue"].as_i64());
        assert_eq!(Some(own), top(path, &[])["total"].as_i64());
    }
}

/// Own and cumulative sums by name, out of what was written.
fn expected(file: &Value) -> BTreeMap<String, (i64, i64)> {
    let frames = file["shared"]["frames"].as_array().expect("frames");
    let name = |it: &Value| {
        let frame = &frames[it.as_u64().expect("a place") as usize];
        frame["name"].as_str().expect("a name").to_owned()
    };
    let samples = file["profiles"][0]["samples"].as_array().expect("samples");
    let weights = file["profiles"][0]["weights"].as_array().expect("weights");
    let mut folded = String::new();
    for (stack, weight) in samples.iter().zip(weights) {
        let names: Vec<String> = stack
            .as_array()
            .expect("a stack")
            .iter()
            .map(name)
            .collect();
        folded.push_str(&format!("{} {weight}\n", names.join(";")));
    }
    sums(&folded)
}

/// What the page's table of functions shows: name, own and total share in per cent.
fn shown(json: &str) -> Option<Vec<(String, f64, f64)>> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let profile = directory.path().join("profile.json");
    fs::write(&profile, json).expect("write");
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/node_modules/speedscope/dist/release/index.html");
    let cells = in_browser("speedscope.mjs", &[page.as_os_str(), profile.as_os_str()])?;
    let cells: Vec<Vec<String>> = serde_json::from_value(cells).expect("rows of cells");
    let rows: Vec<_> = cells.iter().filter_map(|row| shares(row)).collect();
    assert!(!rows.is_empty(), "{cells:?}");
    Some(rows)
}

/// Name, own and total share of a row whose cells are total, own and name, the first two
/// with a share in brackets.
fn shares(row: &[String]) -> Option<(String, f64, f64)> {
    let share = |cell: &String| -> Option<f64> {
        let (_, share) = cell.rsplit_once('(')?;
        let digits = share.split('%').next()?.trim_start_matches('<');
        digits.parse().ok()
    };
    let [total, own, name] = row else {
        return None;
    };
    Some((name.trim().to_owned(), share(own)?, share(total)?))
}
