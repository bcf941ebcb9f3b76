//! `top`: which functions used what was measured.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;
use tachograph_profile::reader::{FrameSet, Granularity, Row, Table, ValueKind};

use crate::args::{Inputs, Naming, Selecting};
use crate::error::Result;
use crate::input;
use crate::names;
use crate::output::{Align, Cell, Grid, HEADING, Output, escaped};
use crate::units;

/// Show what each function used, by itself and with what it called
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    selecting: Selecting,
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
struct Tables {
    frames: FrameSet,
    kind: Option<ValueKind>,
    /// By the text of the label asked for; under `None` what has no such label, and
    /// everything if none was asked for.
    tables: BTreeMap<Option<String>, Table>,
    profiles: usize,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let tables = read(args, output)?;
    match args.json {
        true => print_json(args, &tables, output),
        false => print(args, &tables, output),
    }
}

fn read(args: &Args, output: &mut Output) -> Result<Tables> {
    let selection = args.selecting.selection();
    let mut tables = Tables {
        frames: FrameSet::new(match args.lines {
            true => Granularity::Lines,
            false => Granularity::Functions,
        }),
        kind: None,
        tables: BTreeMap::new(),
        profiles: 0,
    };
    tables.profiles = input::for_each_profile(&args.inputs.paths, output, |_, profile| {
        let place = input::value_place(&mut tables.kind, args.inputs.value.as_deref(), &profile)?;
        let stacks = tables.frames.take_in(&profile);
        let is_chosen = selection.of(&profile);
        for sample in profile.samples().filter(|it| is_chosen(it)) {
            let label = args.by.as_deref().and_then(|key| sample.label(key));
            let table = match tables.tables.get_mut(&label.map(str::to_owned)) {
                Some(table) => table,
                None => tables.tables.entry(label.map(str::to_owned)).or_default(),
            };
            table.add(stacks.of(&sample), sample.values()[place]);
        }
        Ok(())
    })?;
    Ok(tables)
}

impl Tables {
    fn unit(&self) -> &str {
        self.kind.as_ref().map_or("", |it| &it.unit)
    }

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

fn print(args: &Args, tables: &Tables, output: &mut Output) -> Result {
    let kind = tables.kind.as_ref().map_or("", |it| &it.name);
    let total = units::value(tables.total(), tables.unit());
    let profiles = match tables.profiles {
        1 => "1 profile".to_owned(),
        more => format!("{more} profiles"),
    };
    writeln!(output, "{}: {total} in {profiles}", escaped(kind))?;
    let count = args.rows.unwrap_or(if args.by.is_some() { 10 } else { 30 });
    for (label, table) in tables.by_size() {
        if let Some(key) = &args.by {
            let share = units::percent(table.total(), tables.magnitude());
            let total = units::value(table.total(), tables.unit());
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
        let rows = table.rows(&tables.frames);
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

fn print_rows(args: &Args, tables: &Tables, rows: &[Row], output: &mut Output) -> Result {
    let whole = tables.magnitude();
    let mut grid = Grid::new(&[
        ("SELF", Align::Right),
        ("", Align::Right),
        ("TOTAL", Align::Right),
        ("", Align::Right),
        (if args.lines { "LINE" } else { "FUNCTION" }, Align::Left),
    ]);
    for row in rows {
        let value = |value| Cell::from(units::value(value, tables.unit()));
        let share = |value| Cell::from(units::percent(value, whole));
        let frame = tables.frames.get(row.frame);
        grid.row(vec![
            value(row.own),
            share(row.own),
            value(row.cumulative),
            share(row.cumulative),
            names::name(frame, args.naming.full_names).into(),
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

fn print_json(args: &Args, tables: &Tables, output: &mut Output) -> Result {
    let report = Report {
        value: tables.kind.as_ref().map_or("", |it| &it.name),
        unit: tables.unit(),
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
                    .rows(&tables.frames)
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
                            file: Some(frame.file.as_str()).filter(|it| given(it)),
                            line: Some(frame.line).filter(|&it| it != 0),
                            module: Some(frame.module.as_str()).filter(|it| given(it)),
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
