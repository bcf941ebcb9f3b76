//! `convert`: what other viewers read.

mod firefox;
mod folded;
mod speedscope;

pub(crate) use folded::folded_name;

use clap::ValueEnum;
use tachograph_profile::reader::{CallTree, FrameSet, Granularity, Merger};

use crate::args::{Local, Looking, Naming, Paths, Saving};
use crate::asked::Asked;
use crate::error::{Error, Result};
use crate::input;
use crate::output::Output;
use crate::reading::{Reader, label_number};
use crate::save::Target;

/// Convert profiles for other viewers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paths: Paths,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    to: Format,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    naming: Naming,
    /// The texts of this label at the root of all stacks, such as `task` or `thread`
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
    #[command(flatten)]
    saving: Saving,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each stack, as flame graph tools read it
    Folded,
    /// JSON for speedscope.app
    Speedscope,
    /// JSON for profiler.firefox.com
    Firefox,
    /// profile.proto, for `go tool pprof` and others; all samples, as `merge` does it
    Pprof,
}

/// Threads beyond these are counted to the first one.
const THREADS_MAX: usize = 4096;

/// All stacks of one thread, or of all threads.
struct Thread {
    /// Empty if threads are not told apart.
    name: String,
    tree: CallTree<1>,
}

/// Stacks on their way into another format.
struct Converted<'a> {
    threads: Vec<Thread>,
    frames: &'a FrameSet,
    kind: &'a str,
    unit: &'a str,
    full_names: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let target = Target::of(&args.saving, output)?;
    if args.to == Format::Pprof {
        return pprof(args, &target, output);
    }
    let mut reader = Reader::new(
        &args.looking,
        args.by.as_deref(),
        args.local.binaries(),
        Granularity::Functions,
    );
    let mut threads: Vec<Thread> = Vec::new();
    reader.read(&args.paths.paths, output, |frames, sample, stack, value| {
        let name = match args.to {
            Format::Firefox => sample.label("thread").unwrap_or_default(),
            _ => "",
        };
        let place = match threads.iter().position(|it| it.name == name) {
            Some(place) => place,
            None if threads.len() >= THREADS_MAX => 0,
            None => {
                threads.push(Thread {
                    name: name.to_owned(),
                    tree: CallTree::default(),
                });
                threads.len() - 1
            }
        };
        let label = label_number(frames, args.by.as_deref(), sample);
        let stack = label.into_iter().chain(stack.iter().rev().copied());
        let tree = &mut threads[place].tree;
        tree.add(stack, 0, value).map_err(|it| format!("{it:#}"))
    })?;
    let (kind, unit) = reader.kind();
    let converted = Converted {
        threads,
        frames: &reader.frames,
        kind,
        unit,
        full_names: args.naming.full_names,
    };
    target.save(output, |out| match args.to {
        Format::Folded | Format::Pprof => folded::write(&converted, out),
        Format::Speedscope => speedscope::write(&converted, out),
        Format::Firefox => firefox::write(&converted, out),
    })
}

fn pprof(args: &Args, target: &Target, output: &mut Output) -> Result {
    let looking = &args.looking;
    if args.by.is_some() || looking.app || looking.value.is_some() || args.naming.full_names {
        return Err(Error::Misuse(
            "--to pprof keeps samples, frames and labels as they are: --by, --app, --value and \
             --full-names are for the other formats"
                .to_owned(),
        ));
    }
    let selection = looking.selection();
    let mut merger = Merger::default();
    let mut asked = Asked::of(looking, None);
    input::for_each_profile(&args.paths.paths, output, |_, profile| {
        asked.look_at(&profile);
        let chosen = profile.retained(&selection);
        merger.add(&chosen).map_err(|it| format!("{it:#}"))
    })?;
    asked.complain(output);
    crate::merge::save(merger, target, output)
}
