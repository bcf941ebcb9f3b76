//! `diff`: what got slower and what got faster.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use tachograph_profile::reader::{Frame, FrameSet, Granularity, Table};

use crate::args::{Looking, Naming};
use crate::binaries::Binaries;
use crate::error::{Error, Result};
use crate::input::{Capture, captures};
use crate::names;
use crate::output::{Align, BAD, Cell, GOOD, Grid, Output, escaped};
use crate::reading::Reader;
use crate::units;

/// Compare two profiles: what got slower and what got faster, the largest change first
///
/// Times are compared by the second of the clock, so that captures of different lengths
/// can be: 0.5 is half of a core. Functions are those that the profiles name: a binary that
/// is here for one side alone would make changes of its own. See `symbolize` for inlined calls.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it was before, a profile or a directory with profiles. Alone a recorded directory: its
    /// last periodic capture against the newest one that was asked for
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// What it is now
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    naming: Naming,
    /// Compare what functions used with what they called, not by themselves
    #[arg(long)]
    total: bool,
    /// How many rows to show; 0 for all
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 30)]
    rows: usize,
    /// Print JSON, all rows
    #[arg(long)]
    json: bool,
}

/// One side of the comparison.
struct Side {
    path: PathBuf,
    table: Table,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Change {
    function: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    module: String,
    base: f64,
    other: f64,
    change: f64,
    base_share: f64,
    other_share: f64,
    #[serde(skip)]
    frame: u32,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let (base, other) = match &args.other {
        Some(other) => (args.base.clone(), other.clone()),
        None => chosen(&args.base)?,
    };
    let mut reader = Reader::new(
        &args.looking,
        None,
        Binaries::none(),
        Granularity::Functions,
    );
    let base = read(base, &mut reader, output)?;
    let other = read(other, &mut reader, output)?;
    let (kind, unit) = reader.kind();
    let scale = Scale::of(unit, &base, &other);
    let changes = changes(&base, &other, &reader.frames, args.total, &scale);
    if args.json {
        return output.json(&Report {
            value: kind,
            unit: scale.unit(),
            base: side(&base, &scale),
            other: side(&other, &scale),
            changes,
        });
    }
    writeln!(output, "{}{}", escaped(kind), scale.heading())?;
    for (name, side) in [("base", &base), ("other", &other)] {
        writeln!(
            output,
            "{name:<6}  {}{}: {}",
            scale.shown(scale.of_side(side.table.total(), side)),
            match side.seconds > 0.0 {
                true => format!(" over {}", units::duration(side.seconds)),
                false => String::new(),
            },
            escaped(&side.path.display().to_string())
        )?;
    }
    print(args, &changes, &reader.frames, &scale, output)
}

fn read(path: PathBuf, reader: &mut Reader<'_>, output: &mut Output) -> Result<Side> {
    let mut table = Table::default();
    let paths = [path];
    let extent = reader.read(&paths, output, |_, _, stack, value| {
        table.add(stack.iter().copied(), value);
        Ok(())
    })?;
    let [path] = paths;
    Ok(Side {
        path,
        table,
        seconds: extent.seconds,
    })
}

/// The last periodic capture of a directory, and the newest one taken on request.
fn chosen(directory: &std::path::Path) -> Result<(PathBuf, PathBuf)> {
    let all = captures(directory)?;
    let newest = |is_periodic: bool| {
        let is_it = |it: &&Capture| {
            let sidecar = it.sidecar.as_ref().and_then(|it| it.as_ref().ok());
            it.profile_bytes.is_some()
                && sidecar.is_some_and(|it| (it.reason == "periodic") == is_periodic)
        };
        let found = all.iter().rev().find(is_it);
        found.map(|it| directory.join(it.name.profile()))
    };
    let missing = |what: &str| {
        Error::Finding(format!(
            "{}: there is no {what} in it; name two profiles",
            directory.display()
        ))
    };
    let base = newest(true).ok_or_else(|| missing("periodic capture"))?;
    let other = newest(false).ok_or_else(|| missing("capture that was asked for"))?;
    Ok((base, other))
}

/// How values of both sides become comparable.
struct Scale<'a> {
    /// To seconds, if the values are times.
    factor: f64,
    by_time: bool,
    /// Of the values by themselves.
    unit: &'a str,
}

impl<'a> Scale<'a> {
    fn of(unit: &'a str, base: &Side, other: &Side) -> Self {
        let by_time = base.seconds > 0.0 && other.seconds > 0.0;
        let factor = units::seconds_in(unit);
        Self {
            factor: factor.unwrap_or(1.0),
            by_time,
            unit: factor.map_or(unit, |_| "seconds"),
        }
    }

    /// What stands behind the name of the value.
    fn heading(&self) -> String {
        match self.unit().as_str() {
            "" => String::new(),
            unit => format!(", {unit}"),
        }
    }

    fn unit(&self) -> String {
        match self.by_time {
            true => format!("{} per second", self.unit),
            false => self.unit.to_owned(),
        }
    }

    /// A value for people.
    fn shown(&self, value: f64) -> String {
        match self.unit {
            "bytes" => units::bytes(value.round() as i64),
            _ if self.by_time => format!("{value:.3}"),
            "seconds" => units::duration(value),
            _ => format!("{value:.0}"),
        }
    }

    fn of_side(&self, value: i64, side: &Side) -> f64 {
        let value = value as f64 * self.factor;
        match self.by_time {
            true => value / side.seconds,
            false => value,
        }
    }
}

fn changes(
    base: &Side,
    other: &Side,
    frames: &FrameSet,
    total: bool,
    scale: &Scale<'_>,
) -> Vec<Change> {
    let mut sums = vec![[0_i64; 2]; frames.len()];
    for (which, side) in [base, other].into_iter().enumerate() {
        for row in side.table.rows(frames) {
            sums[row.frame as usize][which] = if total { row.cumulative } else { row.own };
        }
    }
    let mut changes: Vec<Change> = (0..)
        .zip(sums)
        .filter(|(_, sums)| *sums != [0, 0])
        .map(|(frame, [before, now])| {
            let share = |value: i64, side: &Side| match side.table.magnitude() {
                0 => 0.0,
                whole => value as f64 / whole as f64,
            };
            let (base_value, other_value) =
                (scale.of_side(before, base), scale.of_side(now, other));
            Change {
                function: frames.get(frame).name.to_string(),
                module: frames.get(frame).module.to_string(),
                base: base_value,
                other: other_value,
                change: other_value - base_value,
                base_share: share(before, base),
                other_share: share(now, other),
                frame,
            }
        })
        .filter(|it| it.change != 0.0)
        .collect();
    changes.sort_by(|a, b| {
        let sizes = b.change.abs().total_cmp(&a.change.abs());
        sizes.then_with(|| a.function.cmp(&b.function))
    });
    changes
}

fn print(
    args: &Args,
    changes: &[Change],
    frames: &FrameSet,
    scale: &Scale<'_>,
    output: &mut Output,
) -> Result {
    if changes.is_empty() {
        writeln!(output, "no function used more or less")?;
        return Ok(());
    }
    let shown = match args.rows {
        0 => changes.len(),
        rows => rows.min(changes.len()),
    };
    let mut grid = Grid::new(&[
        ("CHANGE", Align::Right),
        ("BASE", Align::Right),
        ("", Align::Right),
        ("OTHER", Align::Right),
        ("", Align::Right),
        ("FUNCTION", Align::Left),
    ]);
    let named: Vec<&Frame> = changes[..shown]
        .iter()
        .map(|it| frames.get(it.frame))
        .collect();
    let names = names::distinct(&named, args.naming.full_names);
    for (change, name) in changes.iter().zip(names) {
        let share = |share: f64| Cell::from(format!("{:.1} %", 100.0 * share));
        grid.row(vec![
            Cell {
                text: match change.change > 0.0 {
                    true => format!("+{}", scale.shown(change.change)),
                    false => scale.shown(change.change),
                },
                style: if change.change > 0.0 { BAD } else { GOOD },
            },
            scale.shown(change.base).into(),
            share(change.base_share),
            scale.shown(change.other).into(),
            share(change.other_share),
            name.into(),
        ]);
    }
    grid.print(output)?;
    if shown < changes.len() {
        writeln!(
            output,
            "… and {} more (-n 0 shows all)",
            changes.len() - shown
        )?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    value: &'a str,
    unit: String,
    base: ReportSide,
    other: ReportSide,
    changes: Vec<Change>,
}

#[derive(Serialize)]
struct ReportSide {
    path: String,
    seconds: f64,
    total: f64,
}

fn side(side: &Side, scale: &Scale<'_>) -> ReportSide {
    ReportSide {
        path: side.path.display().to_string(),
        seconds: side.seconds,
        total: scale.of_side(side.table.total(), side),
    }
}
