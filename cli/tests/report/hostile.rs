//! Nothing in a file is trusted: what was tampered with is shown as text, or refused by
//! name, and the rest still counts.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tachograph_profile::{Profile, proto};

use crate::node::in_browser;
use crate::page::Desk;
use crate::recording::{Capture, Sample, morning};

/// Texts that would be markup, script, the end of the data, or an unreadable page.
fn nasty() -> Vec<String> {
    [
        "</script><script>globalThis.owned = 1</script>",
        "<!--<script>",
        "\"><img src=x onerror=\"globalThis.owned = 1\">",
        "<b onclick=alert(1)>bold</b>",
        "javascript:alert(1)",
        "@SCRIPT@ @RECORDING@ ${globalThis.owned = 1}",
        "safe\u{202e}esrever\u{2066}",
        "line\nbreak\tand\u{0}zero\u{1b}[31m",
        "separators\u{2028}\u{2029}",
        "__proto__",
        "constructor",
        "",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("long_{}", "x".repeat(100_000))])
    .collect()
}

fn sample(name: &str, task: &str) -> Sample {
    Sample {
        stack: vec![name.to_owned(), format!("{name}!")],
        task: Some(task.to_owned()),
        thread: Some(task.to_owned()),
        count: 10,
        nanos: 100_000_000,
    }
}

fn capture(minutes: u64, samples: Vec<Sample>) -> Capture {
    let start = morning() + Duration::from_secs(60 * minutes);
    Capture::new(start, Duration::from_secs(10), "periodic", samples)
}

/// Captures whose every text is nasty.
fn write_nasty(desk: &Desk) -> Vec<Capture> {
    let samples: Vec<Sample> = nasty().iter().map(|it| sample(it, it)).collect();
    let mut captures = Vec::new();
    for (minutes, text) in (0..).step_by(10).zip(nasty()) {
        // A sidecar of 100 kB is none.
        let text: String = text.chars().take(1_000).collect();
        let mut capture = capture(minutes, samples.clone());
        capture.set("/Reason", json!(text));
        capture.set("/RustVersion", json!(text));
        capture.set("/Sampler/Name", json!(text));
        capture.set("/Sha256", json!(text));
        capture.sidecar["Executable"] = json!({ "BuildId": text });
        capture.sidecar["Before"]["Pool"] = json!({ text.clone(): text });
        capture.write(&desk.recorded());
        captures.push(capture);
    }
    captures
}

#[test]
fn names_are_data_and_never_markup() {
    let desk = Desk::new();
    let captures = write_nasty(&desk);
    desk.report(0);
    let html = fs::read_to_string(desk.page()).expect("the page is UTF-8");
    for text in nasty()
        .iter()
        .filter(|it| it.contains(['<', '$', '\u{202e}']))
    {
        assert!(!html.contains(text), "{text:?} stands in the page");
    }
    assert_eq!(
        html.matches("<script").count(),
        2,
        "the data and the script"
    );

    let model = desk.model();
    let stacks = model.stacks();
    let rows = model.rows(&model.captures()[0], &stacks);
    assert_eq!(rows.len(), captures[0].samples.len());
    let nanos: i64 = rows.iter().map(|it| it.nanos).sum();
    assert_eq!(nanos, captures[0].nanos());
    let longest = model.json["strings"].as_array().expect("texts").iter();
    let longest = longest.map(|it| it.as_str().expect("a text").len()).max();
    assert!(longest < Some(5_000), "long names are cut");
}

#[test]
fn a_bad_file_is_named_and_the_others_count() {
    let desk = Desk::new();
    let good = capture(0, vec![sample("app::work", "job")]);
    good.write(&desk.recorded());
    let whole = fs::read(desk.recorded().join(good.name().profile())).expect("a profile");
    let mut told = Vec::new();
    let mut bad =
        |minutes: u64, profile: Option<&[u8]>, sidecar: Option<&str>, why: &'static str| {
            let name = capture(minutes, Vec::new()).name();
            if let Some(bytes) = profile {
                fs::write(desk.recorded().join(name.profile()), bytes).expect("a file");
            }
            if let Some(text) = sidecar {
                fs::write(desk.recorded().join(name.sidecar()), text).expect("a file");
            }
            told.push((name.profile(), why));
        };
    let sidecar = good.sidecar.to_string();
    bad(10, Some(b""), Some(&sidecar), "the input is empty");
    bad(
        20,
        Some(&whole[..whole.len() / 2]),
        Some(&sidecar),
        "cut short",
    );
    bad(30, Some(b"<html>"), Some(&sidecar), "not a message");
    bad(40, Some(&whole), None, "a profile without its sidecar");
    bad(50, None, Some(&sidecar), "a sidecar without its profile");
    bad(60, Some(&whole), Some("{}"), "the sidecar cannot be read");
    let heap = encoded(&capture(0, vec![sample("app::work", "job")]), |message| {
        message
            .string_table
            .iter_mut()
            .filter(|it| *it == "cpu")
            .for_each(|it| *it = "space".to_owned());
    });
    bad(
        70,
        Some(&heap),
        Some(&sidecar),
        "no values of cpu/nanoseconds but of samples/count, space/nanoseconds",
    );
    let negative = encoded(&capture(0, vec![sample("app::work", "job")]), |message| {
        message.sample[0].value[1] = -5
    });
    bad(
        80,
        Some(&negative),
        Some(&sidecar),
        "a sample has 10 counts and -5 ns",
    );
    let absurd = encoded(&capture(0, vec![sample("app::work", "job")]), |message| {
        message.sample[0].value[1] = i64::MAX
    });
    bad(90, Some(&absurd), Some(&sidecar), "9223372036 s of CPU");
    let endless = encoded(&capture(0, vec![sample("app::work", "job")]), |message| {
        message.duration_nanos = i64::MAX
    });
    bad(
        100,
        Some(&endless),
        Some(&sidecar),
        "a window has at most 259200 s",
    );

    let said = desk.report(1);
    let model = desk.model();
    let notes = model.json["notes"].as_array().expect("notes");
    for (name, why) in &told {
        let line = said
            .lines()
            .find(|it| it.contains(name.as_str()))
            .expect("a line for each");
        assert!(line.contains(why), "{line}");
        let note = notes
            .iter()
            .find(|it| it["entry"] == name.as_str())
            .expect("a note for each");
        assert!(
            note["text"].as_str().expect("a text").contains(why),
            "{note}"
        );
    }
    assert_eq!(said.lines().count(), told.len());
    assert_eq!(notes.len(), told.len());
    // The one that is whole, and two whose samples are, though nothing explains them.
    assert_eq!(model.captures().len(), 3);
    assert_eq!(model.captures()[1]["reason"], json!(null));
}

#[test]
fn a_pipe_or_a_link_that_is_named_like_a_capture_is_not_opened() {
    let desk = Desk::new();
    let good = capture(0, vec![sample("app::work", "job")]);
    good.write(&desk.recorded());
    let at = |entry: String| desk.recorded().join(entry);
    let (pipe, link) = (capture(10, Vec::new()), capture(20, Vec::new()));
    for entry in [pipe.name().profile(), pipe.name().sidecar()] {
        let made = std::process::Command::new("mkfifo").arg(at(entry)).status();
        assert!(made.expect("mkfifo runs").success());
    }
    std::os::unix::fs::symlink(at(good.name().profile()), at(link.name().profile()))
        .expect("a link");
    std::os::unix::fs::symlink(at(good.name().sidecar()), at(link.name().sidecar()))
        .expect("a link");

    let said = desk.report(1);
    for refused in [pipe, link] {
        let name = refused.name().profile();
        let line = said.lines().find(|it| it.contains(&name));
        assert!(line.is_some_and(|it| it.contains("regular file")), "{said}");
    }
    assert_eq!(desk.model().captures().len(), 1);
}

fn encoded(capture: &Capture, change: impl Fn(&mut proto::Profile)) -> Vec<u8> {
    let mut message = capture.message();
    change(&mut message);
    let mut bytes = Vec::new();
    let profile = Profile::from_message(message).expect("coherent");
    profile.encode_gz(&mut bytes).expect("memory takes all");
    bytes
}

#[test]
fn the_page_is_neither_put_into_the_recorded_directory_nor_over_another_file() {
    let desk = Desk::new();
    capture(0, vec![sample("app::work", "job")]).write(&desk.recorded());
    let into = desk.run(&["-o", "profiles/report.html", "--force"]);
    assert_eq!(into.status.code(), Some(2));
    let said = String::from_utf8_lossy(&into.stderr);
    assert!(
        said.contains("profiles/report.html") && said.contains("recorded"),
        "{said}"
    );
    assert_eq!(fs::read_dir(desk.recorded()).expect("a folder").count(), 2);

    fs::write(desk.page(), "mine").expect("a file");
    let over = desk.run(&["-o", "report.html"]);
    assert_eq!(over.status.code(), Some(2));
    let said = String::from_utf8_lossy(&over.stderr);
    assert!(said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(desk.page()).expect("a file"), "mine");
    desk.report(0);

    let nowhere = desk.run(&["-o", "missing/report.html"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

#[test]
fn hostile_and_empty_pages_open_and_refuse_what_was_smuggled_in() {
    let empty = Desk::new();
    empty.report(1);
    let idle = Desk::new();
    capture(0, Vec::new()).write(&idle.recorded());
    idle.report(0);
    let nasty = Desk::new();
    write_nasty(&nasty);
    fs::write(
        nasty
            .recorded()
            .join(capture(500, Vec::new()).name().profile()),
        "<b>",
    )
    .expect("a file");
    nasty.report(1);
    let deep = Desk::new();
    let stack = (0..20_000).map(|it| format!("f{}", it % 3)).collect();
    capture(
        0,
        vec![Sample {
            stack,
            ..sample("", "job")
        }],
    )
    .write(&deep.recorded());
    deep.report(0);

    let pages = [empty.page(), idle.page(), nasty.page(), deep.page()];
    let pages: Vec<_> = pages.iter().map(|it| it.as_os_str()).collect();
    let Some(glances) = in_browser("report/glance.mjs", &pages) else {
        return;
    };
    let glances = glances.as_array().expect("one for each page");
    assert_eq!(glances.len(), pages.len());
    for glance in glances {
        assert_eq!(glance["requests"], json!([]));
        assert_eq!(glance["complaints"], json!([]));
        assert_eq!(glance["marks"]["scripts"], 2);
        assert_eq!(glance["marks"]["intruders"], 0);
        assert_eq!(glance["marks"]["owned"], false);
        assert_eq!(
            glance["refused"],
            json!({ "markup": true, "request": true, "script": true })
        );
    }
    let empty_text = |place: usize| glances[place]["shown"]["empty"].to_string();
    assert!(empty_text(0).contains("Nothing was recorded in this directory."));
    assert!(empty_text(1).contains("hold no samples"));
    let text = glances[2]["marks"]["text"].as_str().expect("a text");
    assert!(text.contains("</script><script>globalThis.owned = 1</script>"));
    assert!(
        text.contains("safe\\u{202e}esrever\\u{2066}"),
        "what cannot be seen is spelled out"
    );
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{2028}', '\u{0}', '\u{1b}']));
    let frames = glances[3]["shown"]["frames"]
        .as_array()
        .expect("frames")
        .len();
    assert!(
        (200..1_000).contains(&frames),
        "{frames} of 20,000 levels are drawn"
    );
}
