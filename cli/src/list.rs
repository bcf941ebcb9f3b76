//! `list`: what was recorded when, and what to make of it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use tachograph_core::{Sidecar, Timestamp};

use crate::args::Period;
use crate::error::Result;
use crate::input::{Capture, captures};
use crate::output::{Align, BAD, Cell, GOOD, Grid, Output};
use crate::sidecar::{self, Verdict};
use crate::units;

/// List the captures in a directory: when, why, how long, and whether they can be trusted
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that a recorder writes to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    period: Period,
    /// Only captures taken for this reason, such as `periodic`
    #[arg(long, value_name = "NAME")]
    reason: Option<String>,
    /// Print JSON: an array of objects, one for each capture
    #[arg(long)]
    json: bool,
}

/// One capture, for programs. What is not known is null.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    started_at: Timestamp,
    reason: Option<String>,
    seconds: Option<f64>,
    cpu_seconds: Option<f64>,
    cores: Option<f64>,
    samples: Option<u64>,
    lost: Option<u64>,
    bytes: Option<u64>,
    verdict: &'static str,
    /// The verdict in words.
    detail: String,
    #[serde(skip)]
    is_bad: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let captures = captures(&args.directory)?;
    let mut lines = Vec::new();
    for capture in &captures {
        let line = line(capture);
        // One without a sidecar that can be read is not known to be taken for another reason.
        if let Some(Err(problem)) = &capture.sidecar
            && args.period.has(line.started_at)
        {
            let path = args.directory.join(capture.name.sidecar());
            output.complain(format!("{}: {problem}", path.display()));
        }
        if is_asked_for(&line, args) {
            lines.push(line);
        }
    }
    if let Some(problem) = missing(&captures, args) {
        output.complain(problem);
    }
    if args.json {
        return output.json(&lines);
    }
    let mut grid = Grid::new(&[
        ("STARTED (UTC)", Align::Left),
        ("REASON", Align::Left),
        ("LENGTH", Align::Right),
        ("CORES", Align::Right),
        ("SAMPLES", Align::Right),
        ("LOST", Align::Right),
        ("SIZE", Align::Right),
        ("VERDICT", Align::Left),
    ]);
    for line in &lines {
        let or_nothing = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
        grid.row(vec![
            when(&line.started_at).into(),
            or_nothing(line.reason.clone()),
            or_nothing(line.seconds.map(units::duration)),
            or_nothing(line.cores.map(|it| format!("{it:.2}"))),
            or_nothing(line.samples.map(|it| it.to_string())),
            or_nothing(line.lost.map(|it| it.to_string())),
            or_nothing(line.bytes.map(|it| units::bytes(it as i64))),
            Cell {
                text: line.detail.clone(),
                style: if line.is_bad { BAD } else { GOOD },
            },
        ]);
    }
    grid.print(output)
}

/// What was asked for and is not there at any time.
fn missing(captures: &[Capture], args: &Args) -> Option<String> {
    let directory = args.directory.display();
    if captures.is_empty() {
        return Some(format!("{directory}: there is no capture in it"));
    }
    let sidecars = captures
        .iter()
        .filter_map(|it| it.sidecar.as_ref()?.as_ref().ok());
    let reasons: BTreeSet<&str> = sidecars.map(|it| it.reason.as_str()).collect();
    let reason = args.reason.as_deref().filter(|it| !reasons.contains(it))?;
    Some(format!(
        "{directory}: no capture was taken for the reason {reason}; there is {}",
        Vec::from_iter(reasons).join(", ")
    ))
}

fn is_asked_for(line: &Line, args: &Args) -> bool {
    let is_meant = |it: &String| line.reason.as_ref() == Some(it);
    args.period.has(line.started_at) && args.reason.as_ref().is_none_or(is_meant)
}

fn line(capture: &Capture) -> Line {
    let known = capture.sidecar.as_ref().and_then(|it| it.as_ref().ok());
    let (verdict, detail, is_bad) = judge(capture, known);
    Line {
        name: capture.name.profile(),
        started_at: capture.name.start().into(),
        reason: known.map(|it| it.reason.clone()),
        seconds: known.map(sidecar::seconds),
        cpu_seconds: known.and_then(sidecar::cpu_seconds),
        cores: known.and_then(sidecar::cores),
        samples: known.map(|it| it.samples),
        lost: known.map(|it| it.lost),
        bytes: capture.profile_bytes,
        verdict,
        detail,
        is_bad,
    }
}

fn judge(capture: &Capture, known: Option<&Sidecar>) -> (&'static str, String, bool) {
    let broken = |word: &'static str, text: String| (word, text, true);
    match (&capture.sidecar, known, capture.profile_bytes) {
        _ if capture.is_unfinished && capture.profile_bytes.is_none() => {
            broken("unfinished", "unfinished".to_owned())
        }
        (_, _, None) => broken("incomplete", "no profile".to_owned()),
        (None, _, _) => broken("incomplete", "no sidecar".to_owned()),
        (Some(Err(problem)), _, _) => broken("incomplete", format!("bad sidecar: {problem}")),
        (_, Some(sidecar), Some(bytes)) if sidecar.bytes != bytes => broken(
            "incomplete",
            format!("{bytes} bytes, the sidecar says {}", sidecar.bytes),
        ),
        (_, Some(sidecar), _) => {
            let verdict = Verdict::of(sidecar);
            (verdict.word(), verdict.text(), verdict.is_bad())
        }
        (Some(Ok(_)), None, _) => unreachable!("what was read is known"),
    }
}

/// To the second, as people read it.
fn when(time: &Timestamp) -> String {
    let text = time.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}
