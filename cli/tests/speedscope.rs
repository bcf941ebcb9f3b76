//! What `convert` writes, read by the viewers it is for.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{complaint, data, printed, skipped};
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

/// The released page of speedscope: in the directory that the environment names, or
/// from the package registry.
fn speedscope() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TACHOGRAPH_TEST_SPEEDSCOPE") {
        return Some(named.into());
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speedscope");
    let page = place.join("node_modules/speedscope/dist/release");
    if !page.join("index.html").is_file() {
        fs::create_dir_all(&place).expect("a temporary directory");
        let installed = Command::new("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--no-save",
                "speedscope@1.25.0",
            ])
            .current_dir(&place)
            .output();
        if !installed.is_ok_and(|it| it.status.success()) {
            return None;
        }
    }
    Some(page)
}

fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|it| Command::new(it).arg("--version").output().is_ok())
}

#[test]
fn speedscope_shows_the_same_sums() {
    let (Some(chromium), Some(page)) = (chromium(), speedscope()) else {
        skipped("needs chromium, and speedscope through npm");
        return;
    };
    for (path, name) in PROFILES {
        let json = converted(path, "speedscope");
        let rows = shown(chromium, &page, &json);
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
fn shown(chromium: &str, page: &Path, json: &str) -> Vec<(String, f64, f64)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let script = directory.path().join("profile.js");
    let text = serde_json::to_string(&base64(json.as_bytes())).expect("JSON");
    let call = format!("speedscope.loadFileFromBase64('profile.json', {text})");
    fs::write(&script, call).expect("write");
    let page = page.canonicalize().expect("it exists");
    let url = format!(
        "file://{}/index.html#view=sandwich&localProfilePath={}",
        page.display(),
        script.display().to_string().trim_start_matches('/')
    );
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--window-size=1600,4000",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", directory.path().display()))
        .arg(&url)
        .output()
        .expect("it runs");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = rows(&page);
    assert!(!rows.is_empty(), "{}\n{page}", complaint(&output));
    rows
}

/// The rows of a table whose cells are total, own and name, the first two with a
/// share in brackets.
fn rows(page: &str) -> Vec<(String, f64, f64)> {
    let mut rows = Vec::new();
    for row in page.split("<tr").skip(1) {
        let cells: Vec<String> = row.split("<td").skip(1).map(text).collect();
        let share = |cell: &String| -> Option<f64> {
            let (_, share) = cell.rsplit_once('(')?;
            share
                .split('%')
                .next()?
                .trim_start_matches('<')
                .parse()
                .ok()
        };
        if let [total, own, name] = &cells[..]
            && let (Some(total), Some(own)) = (share(total), share(own))
        {
            rows.push((name.trim().to_owned(), own, total));
        }
    }
    rows
}

/// The text of a piece of HTML that begins inside of a tag.
fn text(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = true;
    for character in html.chars() {
        match character {
            '<' => is_tag = true,
            '>' => is_tag = false,
            _ if is_tag => {}
            character => text.push(character),
        }
    }
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(text, |text, (entity, plain)| text.replace(entity, plain))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut bits = [0; 3];
        bits[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, bits[0], bits[1], bits[2]]);
        for place in 0..4 {
            match place <= chunk.len() {
                true => text.push(DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char),
                false => text.push('='),
            }
        }
    }
    text
}
