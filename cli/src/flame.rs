//! `flame`: a flame graph.

use std::io;
use std::path::PathBuf;

use inferno::flamegraph::{self, Options, Palette, color::BasicPalette};
use tachograph_profile::reader::{CallTree, FrameSet, Granularity};

use crate::args::{Local, Looking, Naming, Paths, Saving};
use crate::binaries::Binaries;
use crate::convert::folded_name;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::reading::{Reader, label_number};
use crate::save::Target;
use crate::units;

/// Narrower boxes than this part of the whole cannot be seen, and are counted to what
/// called them.
const WIDTH_LEAST: f64 = 0.000_4;

/// Draw a flame graph (SVG)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    naming: Naming,
    /// The texts of this label at the root, such as `task` or `thread`
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
    /// Colour by what changed since these profiles were taken: red has grown, blue has shrunk.
    /// Functions are then those that the profiles name
    #[arg(long, value_name = "FILE or DIR")]
    diff: Vec<PathBuf>,
    #[command(flatten)]
    saving: Saving,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let target = Target::of(&args.saving, output)?;
    let mut reader = Reader::new(
        &args.looking,
        args.by.as_deref(),
        // A binary that is here for one side alone would make changes of its own.
        match args.diff[..] {
            [] => args.local.binaries(),
            _ => Binaries::none(),
        },
        Granularity::Functions,
    );
    // Before and now.
    let mut tree = CallTree::<2>::default();
    let now = read(args, &args.paths.paths, 1, &mut reader, &mut tree, output)?;
    let before = match args.diff[..] {
        [] => None,
        _ => Some(read(args, &args.diff, 0, &mut reader, &mut tree, output)?),
    };
    // In equal times the same thing has the same width.
    let scale = match before {
        Some(before) if before.seconds > 0.0 && now.seconds > 0.0 => now.seconds / before.seconds,
        _ => 1.0,
    };
    let lines = lines(&tree, &reader.frames, args, before.map(|_| scale));
    if lines.is_empty() {
        return Err(Error::Finding("there is nothing to draw".to_owned()));
    }
    let (kind, unit) = reader.kind();
    let [_, total] = tree.total(CallTree::<2>::ROOT);
    let mut options = Options::default();
    options.title = format!(
        "{kind}: {} in {}",
        units::value(total, unit),
        units::profiles(now.profiles)
    );
    options.count_name = unit.to_owned();
    options.min_width = 0.02;
    options.colors = Palette::Basic(BasicPalette::Hot);
    options.deterministic = true;
    options.hash = true;
    target.save(output, |out| {
        let lines = lines.iter().map(String::as_str);
        flamegraph::from_lines(&mut options, lines, io::BufWriter::new(out))
    })
}

fn read(
    args: &Args,
    paths: &[PathBuf],
    which: usize,
    reader: &mut Reader<'_>,
    tree: &mut CallTree<2>,
    output: &mut Output,
) -> Result<crate::reading::Extent> {
    reader.read(paths, output, |frames, sample, stack, value| {
        let label = label_number(frames, args.by.as_deref(), sample);
        let stack = label.into_iter().chain(stack.iter().rev().copied());
        tree.add(stack, which, value)
            .map_err(|it| format!("{it:#}"))
    })
}

/// Folded stacks, sorted as the drawing wants them: with one number, or before and now.
fn lines(tree: &CallTree<2>, frames: &FrameSet, args: &Args, before: Option<f64>) -> Vec<String> {
    let least = (tree.size(CallTree::<2>::ROOT) as f64 * WIDTH_LEAST) as u64;
    let mut lines = Vec::new();
    tree.stacks(least, |stack, [base, now]| {
        // A flame graph has no room for what is less than nothing.
        let now = now.max(0);
        let base = before.map(|scale| (base.max(0) as f64 * scale).round() as i64);
        if now == 0 && base.unwrap_or(0) == 0 {
            return;
        }
        let names: Vec<String> = stack
            .iter()
            .map(|&frame| folded_name(frames.get(frame), args.naming.full_names))
            .collect();
        let stack = match names.is_empty() {
            true => "[no stack]".to_owned(),
            false => names.join(";"),
        };
        lines.push(match base {
            Some(base) => format!("{stack} {base} {now}"),
            None => format!("{stack} {now}"),
        });
    });
    lines.sort_unstable();
    lines
}
