//! `symbolize`: functions, inlined calls and lines put into a profile.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use tachograph_profile::reader::Binary;

use crate::args::Saving;
use crate::error::{Error, Result};
use crate::input;
use crate::output::Output;
use crate::progress::Progress;
use crate::save::Target;

/// Put functions, inlined calls and lines into a profile, from its binary's debug information
///
/// A binary is used for what was mapped from a file of the same build id, wherever that was.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A profile; `-` is standard input
    #[arg(value_name = "FILE")]
    profile: PathBuf,
    /// An executable or a library with debug information; may be given several times
    #[arg(long, value_name = "PATH", required = true)]
    binary: Vec<PathBuf>,
    #[command(flatten)]
    saving: Saving,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let target = Target::of(&args.saving, output)?;
    let failed =
        |path: &PathBuf, what: String| Error::Finding(format!("{}: {what}", path.display()));
    let mut profile = input::profile(&args.profile).map_err(|it| failed(&args.profile, it))?;
    let mut located = 0;
    let progress = Progress::of(args.binary.len());
    for path in &args.binary {
        let binary = Binary::open(path).map_err(|it| failed(path, format!("{it:#}")))?;
        let build_id = binary.build_id().to_owned();
        if !profile
            .mappings()
            .any(|it| it.build_id() == Some(&build_id))
        {
            let known: Vec<String> = profile
                .mappings()
                .filter_map(|it| Some(format!("{} {}", it.build_id()?, it.path())))
                .collect();
            return Err(failed(
                path,
                match known[..] {
                    [] => "the profile has no build ids, so it cannot be told to be of this binary"
                        .to_owned(),
                    _ => format!(
                        "its build id is {build_id}; the profile is of {}",
                        known.join(", ")
                    ),
                },
            ));
        }
        let binary = Rc::new(RefCell::new(binary));
        let (symbolized, outcome) = profile.symbolized(|mapping| {
            (mapping.build_id() == Some(&build_id)).then(|| Rc::clone(&binary))
        });
        profile = symbolized;
        located += outcome.located;
        if let Some((_, problem)) = outcome.problems.into_iter().next() {
            return Err(failed(path, problem));
        }
        progress.advance();
    }
    drop(progress);
    if located == 0 {
        output.complain("no address was found in the debug information; was it stripped?");
    }
    target.save(output, |mut out| {
        profile.encode_gz(&mut out).map_err(std::io::Error::other)
    })
}
