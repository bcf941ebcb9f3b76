//! `tachograph`: see what was recorded.

#![forbid(unsafe_code)]

mod app;
mod args;
mod asked;
mod binaries;
mod convert;
mod diff;
mod error;
mod flame;
mod input;
mod list;
mod manual;
mod merge;
mod names;
mod output;
mod progress;
mod reading;
mod report;
mod save;
mod sidecar;
mod symbolize;
mod top;
mod tree;
mod units;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use error::Error;
use output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::of_process();
    let outcome = match cli.command {
        Command::List(args) => list::run(&args, &mut output),
        Command::Top(args) => top::run(&args, &mut output),
        Command::Tree(args) => tree::run(&args, &mut output),
        Command::Flame(args) => flame::run(&args, &mut output),
        Command::Diff(args) => diff::run(&args, &mut output),
        Command::Merge(args) => merge::run(&args, &mut output),
        Command::Symbolize(args) => symbolize::run(&args, &mut output),
        Command::Convert(args) => convert::run(&args, &mut output),
        Command::Report(args) => report::run(&args, &mut output),
        Command::Verify(args) => verify::run(&args, &mut output),
        Command::Completions(args) => manual::completions(&args, &mut output),
        Command::Manual(args) => manual::run(&args, &mut output),
    };
    match outcome.and_then(|()| output.finish()) {
        Ok(()) => output.exit_code(),
        // Whoever closes a pipe has seen enough.
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output.complain(&error);
            error.exit_code()
        }
    }
}
