//! Captures: profiles of a recorder with the sidecars beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tachograph_core::Sidecar;
use tachograph_core::store::{CaptureName, EntryKind};

use super::file::bounded;
use crate::error::{Error, Result};

/// The largest sidecar that a recorder can be told to write.
pub(crate) const SIDECAR_BYTES_MAX: u64 = 1 << 20;

/// What stands in a recorded directory under one name.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) name: CaptureName,
    /// The size of the profile, if it is complete.
    pub(crate) profile_bytes: Option<u64>,
    /// What the sidecar says, or what is wrong with it; `None` if there is none.
    pub(crate) sidecar: Option<std::result::Result<Sidecar, String>>,
    /// Whether an unfinished profile stands there.
    pub(crate) is_unfinished: bool,
}

/// All captures in `directory`, in the order of their starts.
///
/// # Errors
///
/// If the directory cannot be listed.
pub(crate) fn captures(directory: &Path) -> Result<Vec<Capture>> {
    let failed =
        |error: std::io::Error| Error::Finding(format!("{}: {error}", directory.display()));
    let mut captures = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some((name, kind)) = name.to_str().and_then(CaptureName::parse) else {
            continue;
        };
        let capture = captures.entry(name).or_insert_with(|| Capture {
            name,
            profile_bytes: None,
            sidecar: None,
            is_unfinished: false,
        });
        // Nobody named it: a pipe would be waited for, and a link leads elsewhere.
        let is_regular = entry.file_type().is_ok_and(|it| it.is_file());
        match kind {
            EntryKind::Sidecar if !is_regular => {
                capture.sidecar = Some(Err("this is not a regular file".to_owned()));
            }
            _ if !is_regular => {}
            // One that vanishes meanwhile was not there.
            EntryKind::Profile => capture.profile_bytes = entry.metadata().ok().map(|it| it.len()),
            EntryKind::Sidecar => capture.sidecar = Some(sidecar(&entry.path())),
            EntryKind::PartialProfile => capture.is_unfinished = true,
            EntryKind::PartialSidecar => {}
        }
    }
    Ok(captures.into_values().collect())
}

fn sidecar(path: &Path) -> std::result::Result<Sidecar, String> {
    let json = bounded(path, SIDECAR_BYTES_MAX)?;
    Sidecar::from_json(&json).map_err(|error| format!("{error:#}"))
}
