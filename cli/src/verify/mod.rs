//! `verify`: whether a directory is as a recorder leaves it, and its captures are true.

mod capture;
mod directory;

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use crate::error::Result;
use crate::output::{BAD, GOOD, Output, escaped};

/// Check a recorded directory: permissions, pairs, names, budgets, checksums, truthfulness
///
/// One line for each finding, and exit status 1 if there is any. A directory that is being
/// recorded into is fine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that a recorder writes to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    budgets: Budgets,
    /// Print JSON: an array of findings
    #[arg(long)]
    json: bool,
}

/// What the recorder was allowed, if not the defaults.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Budgets {
    /// The entries that the recorder may leave in the directory
    #[arg(long, value_name = "COUNT", default_value_t = 512)]
    entries: u64,
    /// The bytes that the directory's files may have
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    bytes: u64,
    /// The bytes that one profile may have
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    profile_bytes: u64,
    /// The bytes that one sidecar may have
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 10)]
    sidecar_bytes: u64,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    /// The entry it is about; empty for the directory.
    entry: String,
    finding: String,
}

impl Finding {
    fn new(entry: impl Into<String>, finding: impl Into<String>) -> Self {
        Self {
            entry: entry.into(),
            finding: finding.into(),
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let directory = directory::Directory::read(&args.directory)?;
    let mut findings = directory.findings(&args.budgets);
    findings.extend(capture::findings(&directory));
    findings.sort();
    findings.dedup();
    if !findings.is_empty() {
        output.find();
    }
    if args.json {
        return output.json(&findings);
    }
    for finding in &findings {
        let entry = match finding.entry.as_str() {
            "" => ".",
            entry => entry,
        };
        writeln!(
            output,
            "{BAD}{}{BAD:#}: {}",
            escaped(entry),
            escaped(&finding.finding)
        )?;
    }
    let captures = match directory.complete().count() {
        1 => "1 capture".to_owned(),
        more => format!("{more} captures"),
    };
    match findings.len() {
        0 => writeln!(output, "{GOOD}{captures}, no findings{GOOD:#}")?,
        1 => writeln!(output, "{captures}, 1 finding")?,
        more => writeln!(output, "{captures}, {more} findings")?,
    }
    Ok(())
}
