//! `completions` and `manual`: for shells and for `man`.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{Error, Result};
use crate::output::Output;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual, for `man -l -`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command that the page is about [default: all of them in short]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(crate) fn completions(args: &CompletionsArgs, output: &mut Output) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tachograph", &mut script);
    Ok(output.write_all(&script)?)
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let mut command = Cli::command();
    command.build();
    let page = match &args.command {
        None => command,
        Some(name) => {
            let found = command.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                let names = command.get_subcommands().map(|it| it.get_name());
                let names: Vec<&str> = names.collect();
                Error::Misuse(format!(
                    "there is no command {name:?}; there is {}",
                    names.join(", ")
                ))
            })?
        }
    };
    Ok(clap_mangen::Man::new(page).render(output)?)
}
