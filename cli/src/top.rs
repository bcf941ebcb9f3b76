//! `top`: which functions used what was measured.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;
use tachograph_profile::reader::{Frame, FrameSet, Granularity, Row, Table};

use crate::args::{Local, Looking, Naming, Paths};
use crate::error::Result;
use crate::names;
use crate::output::{Align, Cell, Grid, HEADING, Output, escaped};
use crate::reading::Reader;
use crate::units;

/// Show what each function used, by itself and with what it called
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
    /// One table for each text of this label, such as `task` or `thread`
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
    /// Lines instead of functions
    #[arg(long)]
    lines: bool,
    /// How many rows to show; 0 for all [default: 30, with --by 10]
    #[arg(short = 'n', long, value_name = "ROWS")]
    rows: Option<usize>,
    /// Print JSON, all rows unless -n is given
    #[arg(long)]
    json: bool,
}

/// The tables of all profiles together.
struct Tables<'a> {
    frames: &'a FrameSet,
    kind: &'a str,
    unit: &'a str,
    /// By the text of the label asked for; under `None` what has no such label, and
    /// everything if none was asked for.
    tables: BTreeMap<Option<String>, Table>,
    profiles: usize,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let mut reader = Reader::new(
        &args.looking,
        args.by.as_deref(),
        args.local.binaries(),
        match args.lines {
            true => Granularity::Lines,
            false => Granularity::Functions,
        },
    );
    let mut tables: BTreeMap<Option<String>, Table> = BTreeMap::new();
    let extent = reader.read(&args.paths.paths, output, |_, sample, stack, value| {
        let label = args.by.as_deref().and_then(|key| sample.label(key));
        let table = tables.entry(label.map(str::to_owned)).or_default();
        table.add(stack.iter().copied(), value);
        Ok(())
    })?;
    let (kind, unit) = reader.kind();
    let tables = Tables {
        frames: &reader.frames,
        kind,
        unit,
        tables,
        profiles: extent.profiles,
    };
    match args.json {
        true => print_json(args, &tables, output),
        false => print(args, &tables, output),
    }
}

impl Tables<'_> {
    fn total(&self) -> i64 {
        let sums = self.tables.values().map(Table::total);
        sums.fold(0, i64::saturating_add)
    }

    fn magnitude(&self) -> i64 {
        let sums = self.tables.values().map(Table::magnitude);
        sums.fold(0, i64::saturating_add)
    }

    /// The largest first.
    fn by_size(&self) -> Vec<(&Option<String>, &Table)> {
        let mut tables: Vec<_> = self.tables.iter().collect();
        tables.sort_by_key(|(_, table)| std::cmp::Reverse(table.total().unsigned_abs()));
        tables
    }
}

fn print(args: &Args, tables: &Tables<'_>, output: &mut Output) -> Result {
    writeln!(
        output,
        "{}: {} in {}",
        escaped(tables.kind),
        units::value(tables.total(), tables.unit),
        units::profiles(tables.profiles)
    )?;
    let count = args.rows.unwrap_or(if args.by.is_some() { 10 } else { 30 });
    for (label, table) in tables.by_size() {
        if let Some(key) = &args.by {
            let share = units::percent(table.total(), tables.magnitude());
            let total = units::value(table.total(), tables.unit);
            let who = match label {
                Some(text) => format!("{key} {text}"),
                None => format!("(no {key})"),
            };
            writeln!(output)?;
            writeln!(
                output,
                "{HEADING}{}: {total}, {share}{HEADING:#}",
                escaped(&who)
            )?;
        }
        let rows = table.rows(tables.frames);
        let shown = match count {
            0 => rows.len(),
            count => rows.len().min(count),
        };
        print_rows(args, tables, &rows[..shown], output)?;
        if shown < rows.len() {
            writeln!(output, "… and {} more (-n 0 shows all)", rows.len() - shown)?;
        }
    }
    Ok(())
}

fn print_rows(args: &Args, tables: &Tables<'_>, rows: &[Row], output: &mut Output) -> Result {
    let whole = tables.magnitude();
    let mut grid = Grid::new(&[
        ("SELF", Align::Right),
        ("", Align::Right),
        ("TOTAL", Align::Right),
        ("", Align::Right),
        (if args.lines { "LINE" } else { "FUNCTION" }, Align::Left),
    ]);
    let frames: Vec<&Frame> = rows.iter().map(|it| tables.frames.get(it.frame)).collect();
    let names = names::distinct(&frames, args.naming.full_names);
    for (row, name) in rows.iter().zip(names) {
        let value = |value| Cell::from(units::value(value, tables.unit));
        let share = |value| Cell::from(units::percent(value, whole));
        grid.row(vec![
            value(row.own),
            share(row.own),
            value(row.cumulative),
            share(row.cumulative),
            name.into(),
        ]);
    }
    grid.print(output)
}

#[derive(Serialize)]
struct Report<'a> {
    value: &'a str,
    unit: &'a str,
    profiles: usize,
    total: i64,
    tables: Vec<ReportTable<'a>>,
}

#[derive(Serialize)]
struct ReportTable<'a> {
    label: Option<&'a str>,
    text: Option<&'a str>,
    total: i64,
    rows: Vec<ReportRow<'a>>,
}

#[derive(Serialize)]
struct ReportRow<'a> {
    function: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(rename = "self")]
    own: i64,
    total: i64,
}

fn print_json(args: &Args, tables: &Tables<'_>, output: &mut Output) -> Result {
    let report = Report {
        value: tables.kind,
        unit: tables.unit,
        profiles: tables.profiles,
        total: tables.total(),
        tables: tables
            .by_size()
            .into_iter()
            .map(|(text, table)| ReportTable {
                label: args.by.as_deref(),
                text: text.as_deref(),
                total: table.total(),
                rows: table
                    .rows(tables.frames)
                    .into_iter()
                    .take(match args.rows {
                        None | Some(0) => usize::MAX,
                        Some(count) => count,
                    })
                    .map(|row| {
                        let frame = tables.frames.get(row.frame);
                        let given = |text: &str| !text.is_empty();
                        ReportRow {
                            function: &frame.name,
                            file: Some(&*frame.file).filter(|it| given(it)),
                            line: Some(frame.line).filter(|&it| it != 0),
                            module: Some(&*frame.module).filter(|it| given(it)),
                            own: row.own,
                            total: row.cumulative,
                        }
                    })
                    .collect(),
            })
            .collect(),
    };
    output.json(&report)
}
