//! `report`: all of a recorded directory as one page that needs nothing else.
//!
//! The directory becomes a [`wire::Recording`] (captures, gaps, what could not be read;
//! stacks as one tree for all captures), which the page carries compressed and
//! unpacks by itself. What is summed, drawn and searched is summed, drawn and searched
//! there, in `assets/`.

mod facts;
mod gaps;
mod page;
mod samples;
mod strings;
mod tree;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::{Period, Saving};
use crate::binaries::Binaries;
use crate::error::Result;
use crate::input::{self, Capture};
use crate::output::Output;
use crate::progress::Progress;
use crate::reading::pruned;
use crate::save::{self, Target};
use facts::Facts;
use wire::{Note, NoteKind, Recording};

/// Write one page that shows a recorded directory: its time line, flame graphs, comparisons
///
/// The page is a single file that loads nothing from anywhere. It shows every capture at
/// its time, and for one or many of them a flame graph and a table of functions, by task and
/// by thread, compared with others if asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that a recorder writes to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    saving: Saving,
    #[command(flatten)]
    period: Period,
    /// Do not look for inlined calls in the binaries on this machine
    #[arg(long)]
    no_local_binaries: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let target = Target::of(&args.saving, output)?;
    let mut captures = input::captures(&args.directory)?;
    let count = captures.len();
    let last = captures.last().map(|it| it.name);
    captures.retain(|it| args.period.has(it.name.start().into()));
    let has_last = captures.last().map(|it| it.name) == last;
    if captures.is_empty() {
        let directory = args.directory.display();
        output.complain(match count {
            0 => format!("{directory}: there is no capture in it"),
            _ => format!("{directory}: none of its {count} captures started in that time"),
        });
    }
    let is_recording = save::is_locked(&args.directory);
    let mut recording = Recording::new(name_of(&args.directory));
    let mut known = Vec::new();
    let mut binaries = Binaries::new(!args.no_local_binaries);
    let progress = Progress::of(captures.len());
    for capture in &captures {
        let path = args.directory.join(capture.name.profile());
        let mut complain = |note: &Note| {
            progress.aside(|| output.complain(format!("{}: {}", path.display(), note.text)));
        };
        if let Some(note) = note_on_pair(capture, is_recording) {
            if note.kind == NoteKind::Bad {
                complain(&note);
            }
            recording.notes.push(note);
        }
        if capture.profile_bytes.is_some() {
            let taken = input::profile(&path).and_then(|profile| {
                let profile = pruned(binaries.symbolized(profile));
                recording.take_in(capture, &profile)
            });
            match taken {
                Ok(facts) => known.push(facts),
                Err(problem) => {
                    let note = Note::bad(capture, &problem);
                    complain(&note);
                    recording.notes.push(note);
                }
            }
        }
        progress.advance();
    }
    drop(progress);
    let mut gaps = gaps::between(&known);
    let usage = gaps::usage(&args.directory);
    // What was left out is no gap.
    if has_last {
        gaps.extend(gaps::at_the_end(&known, &usage, is_recording));
    }
    let deadline = known.last().and_then(Facts::deadline);
    recording.set_window(gaps, deadline.filter(|_| has_last));
    let page = page::page(&recording)?;
    target.save(output, |out| out.write_all(&page))
}

/// What is wrong with a capture before its profile is looked into.
fn note_on_pair(capture: &Capture, is_recording: bool) -> Option<Note> {
    match (&capture.profile_bytes, &capture.sidecar) {
        (None, _) if capture.is_unfinished => Some(Note::unfinished(capture, is_recording)),
        (None, None) => Some(Note::bad(
            capture,
            "neither a profile nor a sidecar stands there as a regular file",
        )),
        (None, Some(Ok(_))) => Some(Note::bad(capture, "a sidecar without its profile")),
        (Some(_), None) => Some(Note::bad(capture, "a profile without its sidecar")),
        (_, Some(Err(problem))) => Some(Note::bad(
            capture,
            &format!("the sidecar cannot be read: {problem}"),
        )),
        (Some(_), Some(Ok(_))) => None,
    }
}

/// What the page calls the directory: not the whole path, since pages are passed on.
fn name_of(directory: &Path) -> String {
    let whole = fs::canonicalize(directory);
    let name = whole.as_deref().unwrap_or(directory).file_name();
    name.unwrap_or(directory.as_os_str())
        .to_string_lossy()
        .into_owned()
}
