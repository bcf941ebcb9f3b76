//! `tree`: who called whom.

use std::io::Write as _;

use serde::Serialize;
use tachograph_profile::reader::{CallTree, FrameSet, Granularity, NodeId};

use crate::args::{Local, Looking, Naming, Paths};
use crate::error::Result;
use crate::names;
use crate::output::{FAINT, Output, cut, escaped};
use crate::reading::{Reader, label_number};
use crate::units;

/// Show callers and callees as an indented tree
///
/// A function that is all that its caller calls stands right below it, without being
/// indented further.
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
    /// The callers of each function below it, instead of the callees
    #[arg(long)]
    callers: bool,
    /// Begin with the texts of this label, such as `task` or `thread`
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
    /// Leave out what is smaller than this part of the whole
    #[arg(long, value_name = "PER CENT", default_value_t = 1.0, value_parser = percent)]
    min: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads a part of a whole.
pub(crate) fn percent(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err("must be a number from 0 to 100".to_owned()),
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let mut reader = Reader::new(
        &args.looking,
        args.by.as_deref(),
        args.local.binaries(),
        Granularity::Functions,
    );
    let mut tree = CallTree::<1>::default();
    let extent = reader.read(&args.paths.paths, output, |frames, sample, stack, value| {
        let label = label_number(frames, args.by.as_deref(), sample);
        let added = match args.callers {
            false => tree.add(
                label.into_iter().chain(stack.iter().rev().copied()),
                0,
                value,
            ),
            true => tree.add(label.into_iter().chain(stack.iter().copied()), 0, value),
        };
        added.map_err(|it| format!("{it:#}"))
    })?;
    let (kind, unit) = reader.kind();
    let whole = tree.size(CallTree::<1>::ROOT);
    let view = View {
        tree: &tree,
        frames: &reader.frames,
        unit,
        whole: i64::try_from(whole).unwrap_or(i64::MAX),
        least: (whole as f64 * args.min / 100.0).ceil() as u64,
        full_names: args.naming.full_names,
    };
    if args.json {
        return output.json(&Report {
            value: kind,
            unit,
            profiles: extent.profiles,
            nodes: view.lines().into_iter().map(|it| view.node(it)).collect(),
        });
    }
    let [total] = tree.total(CallTree::<1>::ROOT);
    writeln!(
        output,
        "{}: {} in {}",
        escaped(kind),
        units::value(total, unit),
        units::profiles(extent.profiles)
    )?;
    view.print(output)
}

struct View<'a> {
    tree: &'a CallTree<1>,
    frames: &'a FrameSet,
    unit: &'a str,
    whole: i64,
    least: u64,
    full_names: bool,
}

/// A node in the order of printing.
#[derive(Clone, Copy)]
struct Line {
    node: NodeId,
    depth: usize,
    indent: usize,
}

impl View<'_> {
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let top = self.large_children(CallTree::<1>::ROOT);
        let mut pending: Vec<Line> = top
            .into_iter()
            .rev()
            .map(|node| Line {
                node,
                depth: 0,
                indent: 0,
            })
            .collect();
        while let Some(line) = pending.pop() {
            lines.push(line);
            let children = self.large_children(line.node);
            // What is on the way to one place only goes straight down.
            let is_straight = match children[..] {
                [only] => self.tree.total(only) == self.tree.total(line.node),
                _ => false,
            };
            pending.extend(children.into_iter().rev().map(|node| Line {
                node,
                depth: line.depth + 1,
                indent: line.indent + usize::from(!is_straight),
            }));
        }
        lines
    }

    fn large_children(&self, node: NodeId) -> Vec<NodeId> {
        let mut children = self.tree.children(node);
        children.retain(|&it| self.tree.size(it) >= self.least.max(1));
        children
    }

    fn print(&self, output: &mut Output) -> Result {
        writeln!(output, "{:>9}  {:>7}  {:>9}", "TOTAL", "", "SELF")?;
        for line in self.lines() {
            let ([own], [total]) = (self.tree.own(line.node), self.tree.total(line.node));
            let frame = self.frames.get(self.tree.frame(line.node));
            let own = match own {
                0 => "-".to_owned(),
                own => units::value(own, self.unit),
            };
            let numbers = format!(
                "{:>9}  {:>7}  {own:>9}",
                units::value(total, self.unit),
                units::percent(total, self.whole),
            );
            // Deeper than a screen is wide, more indentation says nothing.
            let indent = "· ".repeat(line.indent.min(40));
            let mut name = escaped(&names::name(frame, self.full_names));
            if let Some(width) = output.width() {
                name = cut(
                    &name,
                    width.saturating_sub(31 + 2 * line.indent.min(40)).max(16),
                );
            }
            writeln!(output, "{numbers}  {FAINT}{indent}{FAINT:#}{name}")?;
        }
        Ok(())
    }

    fn node(&self, line: Line) -> ReportNode<'_> {
        let frame = self.frames.get(self.tree.frame(line.node));
        ReportNode {
            depth: line.depth,
            function: &frame.name,
            module: Some(&*frame.module).filter(|it| !it.is_empty()),
            own: self.tree.own(line.node)[0],
            total: self.tree.total(line.node)[0],
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    value: &'a str,
    unit: &'a str,
    profiles: usize,
    /// Each node before what is below it.
    nodes: Vec<ReportNode<'a>>,
}

#[derive(Serialize)]
struct ReportNode<'a> {
    depth: usize,
    function: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(rename = "self")]
    own: i64,
    total: i64,
}
