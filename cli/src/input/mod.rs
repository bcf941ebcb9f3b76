//! From paths to profiles. Nothing in a file is trusted, and a bad one is one line.

mod capture;
mod file;

pub(crate) use capture::{Capture, SIDECAR_BYTES_MAX, captures};
pub(crate) use file::{bounded, decoded, profile};

use std::fs;
use std::path::{Path, PathBuf};

use tachograph_profile::Profile;

use crate::error::{Error, Result};
use crate::output::Output;
use crate::progress::Progress;

/// How the names of profiles end: ours, and what others call theirs.
const ENDINGS: [&str; 4] = [".pprof", ".pb.gz", ".pb", ".prof"];

/// The files that `paths` stand for: those named, and the profiles in the directories
/// that are named, by name.
///
/// Complains about a path that is not there, or a directory without any profile.
pub(crate) fn files(paths: &[PathBuf], output: &mut Output) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" && files.contains(path) {
            output.complain("-: standard input was read already; name it once");
            continue;
        }
        if path.as_os_str() == "-" || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match profiles_in(path) {
            Ok(found) if found.is_empty() => output.complain(format!(
                "{}: no profile in this directory; their names end in {}",
                path.display(),
                ENDINGS.join(", ")
            )),
            Ok(found) => {
                for (path, is_file) in found {
                    // Nobody named it: a pipe would be waited for, and a link leads elsewhere.
                    match is_file {
                        true => files.push(path),
                        false => output.complain(format!(
                            "{}: this is not a regular file; it is read if it is named",
                            path.display()
                        )),
                    }
                }
            }
            Err(error) => output.complain(format!("{}: {error}", path.display())),
        }
    }
    files
}

/// What is called like a profile, and whether it is a regular file.
fn profiles_in(directory: &Path) -> std::io::Result<Vec<(PathBuf, bool)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_profile = ENDINGS
            .iter()
            .any(|ending| name.as_encoded_bytes().ends_with(ending.as_bytes()));
        if is_profile {
            found.push((entry.path(), entry.file_type()?.is_file()));
        }
    }
    found.sort();
    Ok(found)
}

/// Reads all profiles that `paths` stand for, and hands them to `each`, one at a
/// time. Complains about those that cannot be read or that `each` refuses; the others still count.
///
/// # Errors
///
/// If none is left.
pub(crate) fn for_each_profile(
    paths: &[PathBuf],
    output: &mut Output,
    mut each: impl FnMut(&Path, Profile) -> std::result::Result<(), String>,
) -> Result<usize> {
    let mut count = 0;
    let files = files(paths, output);
    let progress = Progress::of(files.len());
    for path in &files {
        match profile(path).and_then(|profile| each(path, profile)) {
            Ok(()) => count += 1,
            Err(problem) => {
                progress.aside(|| output.complain(format!("{}: {problem}", path.display())));
            }
        }
        progress.advance();
    }
    if count == 0 {
        return Err(Error::Finding("no profile could be read".to_owned()));
    }
    Ok(count)
}
