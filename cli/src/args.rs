//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use regex::Regex;
use tachograph_core::Timestamp;
use tachograph_profile::reader::{Matcher, Selection};

use crate::binaries::Binaries;
use crate::{convert, diff, flame, list, manual, merge, report, symbolize, top, tree, verify};

/// See what a CPU flight recorder left, and any profile in the pprof format.
///
/// Exit status: 0; 1 if something was found wrong, such as a file that cannot be read;
/// 2 for a command line that cannot be meant.
#[derive(Debug, Parser)]
#[command(name = "tachograph", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Top(top::Args),
    Tree(tree::Args),
    Flame(flame::Args),
    Diff(diff::Args),
    Merge(merge::Args),
    Symbolize(symbolize::Args),
    Convert(convert::Args),
    Report(report::Args),
    Verify(verify::Args),
    Completions(manual::CompletionsArgs),
    Manual(manual::Args),
}

/// Which profiles are read.
#[derive(Debug, Args)]
pub(crate) struct Paths {
    /// Profiles, and directories with profiles; many are added up. `-` is standard input
    #[arg(value_name = "FILE or DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// What of the profiles is looked at.
#[derive(Debug, Args)]
pub(crate) struct Looking {
    /// The sample type to show, such as `cpu` or `inuse_space` [default: as the profile says]
    #[arg(long, value_name = "NAME")]
    pub(crate) value: Option<String>,
    /// Only samples of this task
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// Only samples of this thread
    #[arg(long, value_name = "NAME")]
    pub(crate) thread: Option<String>,
    /// Only samples with a function, source file or binary on the stack that matches
    #[arg(long, value_name = "RE")]
    pub(crate) focus: Option<Regex>,
    /// No samples with a function, source file or binary on the stack that matches
    #[arg(long, value_name = "RE")]
    pub(crate) ignore: Option<Regex>,
    /// Leave out frames of runtimes and standard libraries: what they use counts for who called them
    #[arg(long)]
    pub(crate) app: bool,
}

/// What binaries on this machine tell of profiles.
#[derive(Debug, Args)]
pub(crate) struct Local {
    /// Do not look for lines and inlined calls in the binaries on this machine
    #[arg(long)]
    pub(crate) no_local_binaries: bool,
}

impl Local {
    pub(crate) fn binaries(&self) -> Binaries {
        Binaries::new(!self.no_local_binaries)
    }
}

impl Looking {
    pub(crate) fn selection(&self) -> Selection {
        let matcher = |regex: &Option<Regex>| {
            let regex = regex.clone()?;
            Some(Box::new(move |text: &str| regex.is_match(text)) as Matcher)
        };
        let label = |key: &str, text: &Option<String>| Some((key.to_owned(), text.clone()?));
        Selection {
            labels: [label("task", &self.task), label("thread", &self.thread)]
                .into_iter()
                .flatten()
                .collect(),
            focus: matcher(&self.focus),
            ignore: matcher(&self.ignore),
        }
    }
}

/// Which captures are looked at.
#[derive(Debug, Args)]
pub(crate) struct Period {
    /// Only captures that started at this time or later (RFC 3339)
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only captures that started before this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
}

impl Period {
    pub(crate) fn has(&self, start: Timestamp) -> bool {
        self.since.is_none_or(|it| start >= it) && self.until.is_none_or(|it| start < it)
    }
}

/// How functions are named.
#[derive(Debug, Args)]
pub(crate) struct Naming {
    /// Function names in full length, with hashes and generics
    #[arg(long)]
    pub(crate) full_names: bool,
}

/// Where a file is written to.
#[derive(Debug, Args)]
pub(crate) struct Saving {
    /// The file to write; `-` is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
