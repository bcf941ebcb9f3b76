//! The harness: builds the peers, runs the subjects one at a time, prints the
//! table and writes the page.

mod bench;
mod go;
mod machine;
mod options;
mod page;
mod perf;
mod rows;
mod spread;
mod stacks;
mod subjects;
mod table;

use std::time::Instant;

use crate::workload::Failure;
use bench::Bench;
use machine::{Load, Machine};
use options::Options;
use subjects::Subjects;

/// Runs everything that the command line asks for.
pub(crate) fn main(words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let options = Options::parse(words)?;
    eprintln!("building the peers");
    let subjects = Subjects::find()?;
    for (subject, reason) in subjects.missing() {
        eprintln!("without {}: {reason}", subject.name());
    }
    let machine = Machine::look(&subjects);
    let load = Load::start();
    let start = Instant::now();
    let mut bench = Bench::new(subjects, &options)?;
    let mut rows = rows::measure(&mut bench, &options);
    if options.quick {
        // Nothing is said about numbers that mean nothing.
        rows.iter_mut().for_each(|row| row.holds = None);
    }
    let load = load.since();
    let page = page::Page {
        options: &options,
        machine: &machine,
        load: &load,
        took: start.elapsed(),
        rows: &rows,
        bench: &bench,
    };
    println!("{}", page.summary());
    std::fs::write(&options.output, page.markdown())?;
    eprintln!("written to {}", options.output.display());
    if options.quick {
        // A smoke test: what did not run is a failure, what was slow is not.
        page.check_complete()?;
    }
    Ok(())
}
