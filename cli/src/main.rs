//! `tachograph`: see what was recorded.

#![forbid(unsafe_code)]

mod args;
mod error;
mod input;
mod list;
mod names;
mod output;
mod sidecar;
mod top;
mod units;

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
