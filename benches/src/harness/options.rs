//! What the command line asks for.

use std::path::{Path, PathBuf};

use crate::workload::Failure;

/// The options of the command.
pub(crate) struct Options {
    /// Every case once and briefly: does it run at all?
    pub(crate) quick: bool,
    /// Only rows whose group has this in its name.
    pub(crate) only: Option<String>,
    /// Where the page goes.
    pub(crate) output: PathBuf,
}

const HELP: &str = "\
tachograph-benches [--quick] [--only GROUP] [--output FILE]

  --quick        every case once and briefly; numbers mean nothing
  --only GROUP   count, short, tasks, cost, memory, ending, label, roots, idle, executor or
                 slowdown
  --output FILE  the page, by default BENCHMARKS.md beside the workspace's Cargo.toml
                 (with --quick or --only: in the target directory)

TACHOGRAPH_TEST_GO is the go command, by default that in PATH.";

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// If it has something that is no option, with the help as its text.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut quick = false;
        let mut only = None;
        let mut output = None;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => quick = true,
                "--only" => only = Some(words.next().ok_or(HELP)?),
                "--output" => output = Some(PathBuf::from(words.next().ok_or(HELP)?)),
                _ => return Err(HELP.into()),
            }
        }
        let output = match output {
            Some(output) => output,
            None if quick || only.is_some() => {
                super::subjects::peers_directory()?.join("BENCHMARKS.md")
            }
            None => workspace().join("BENCHMARKS.md"),
        };
        Ok(Self {
            quick,
            only,
            output,
        })
    }

    /// The command, as it was called.
    pub(crate) fn command(&self) -> String {
        let mut command = "cargo run --release -p tachograph-benches".to_owned();
        if self.quick || self.only.is_some() {
            command.push_str(" --");
        }
        if self.quick {
            command.push_str(" --quick");
        }
        if let Some(only) = &self.only {
            command.push_str(&format!(" --only {only}"));
        }
        command
    }
}

fn workspace() -> &'static Path {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR"));
    benches.parent().unwrap_or(benches)
}
