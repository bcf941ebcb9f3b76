//! `merge`: one profile out of many.

use tachograph_profile::reader::Merger;

use crate::args::{Paths, Saving};
use crate::error::{Error, Result};
use crate::input;
use crate::output::Output;
use crate::save::Target;

/// Add up profiles into one, which keeps all labels
///
/// Profiles with other sample types cannot be added, and are told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    saving: Saving,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result {
    let target = Target::of(&args.saving, output)?;
    let mut merger = Merger::default();
    input::for_each_profile(&args.paths.paths, output, |_, profile| {
        merger.add(&profile).map_err(|it| format!("{it:#}"))
    })?;
    save(merger, &target, output)
}

/// Saves what was added up, compressed.
pub(crate) fn save(merger: Merger, target: &Target, output: &mut Output) -> Result {
    let profile = merger
        .finish()
        .ok_or_else(|| Error::Finding("no profile could be read".to_owned()))?;
    target.save(output, |mut out| {
        profile.encode_gz(&mut out).map_err(std::io::Error::other)
    })
}
