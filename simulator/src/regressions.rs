//! Histories that broke something once.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use crate::{History, Violation};

/// The folder that keeps them, in the source.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

/// All of them, with the names of their files.
///
/// # Errors
///
/// If one cannot be read.
pub fn all() -> Result<Vec<(String, History)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let name = path.display().to_string();
        let json = fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
        let history = serde_json::from_slice(&json).map_err(|error| format!("{name}: {error}"))?;
        all.push((name, history));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

/// Keeps what the history of `seed`, made short, has broken, and returns its
/// file.
///
/// # Errors
///
/// If it cannot be written.
pub fn keep(
    seed: u64,
    violation: &Violation,
    history: &History,
) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder().join(format!("{:?}-{seed}.json", violation.invariant));
    let mut json = serde_json::to_vec_pretty(history)?;
    json.push(b'\n');
    fs::write(&path, json)?;
    Ok(path)
}
