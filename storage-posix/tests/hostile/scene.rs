//! What stands around the path, and what must be true of it in the end.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tachograph_core::store::CaptureName;

use crate::common::{names, set_mode};

/// How the names of directories begin that stood at the path and may again. (They
/// stay in its folder: to move a directory to another takes permissions on it,
/// which the umask may have taken.)
pub(crate) const WING: &str = "wing-";

/// A folder with a path in it that somebody changes, and bystanders.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Where recorders start.
    pub(crate) path: PathBuf,
    /// What symlinks at the path lead to, each with its mode: whatever happens
    /// to them, or in them, was led there.
    pub(crate) bystanders: Vec<(PathBuf, u32)>,
}

impl Scene {
    pub(crate) fn set(parent: &Path) -> Self {
        let bystanders = [("private", 0o700), ("public", 0o755), ("curtailed", 0o500)]
            .map(|(name, mode)| (parent.join(name), mode));
        for (bystander, mode) in &bystanders {
            fs::create_dir(bystander).expect("create");
            set_mode(bystander, *mode);
        }
        Self {
            path: parent.join("profiles"),
            bystanders: bystanders.into(),
        }
    }

    /// What of the bystanders is not as it was.
    pub(crate) fn judge_bystanders(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (bystander, mode) in &self.bystanders {
            let found = crate::common::mode(bystander);
            if found != *mode {
                failures.push(format!("{bystander:?} has mode {found:o}, not {mode:o}"));
            }
            let inside = names(bystander);
            if !inside.is_empty() {
                failures.push(format!("{bystander:?} has {inside:?} in it"));
            }
        }
        failures
    }

    /// What is not as it must be: `captures` each in one private directory that
    /// has stood at the path itself, and the bystanders untouched.
    pub(crate) fn judge(&self, captures: &[CaptureName]) -> Vec<String> {
        let mut failures = self.judge_bystanders();
        let mut found = Vec::new();
        for directory in self.private_directories() {
            let stat = fs::symlink_metadata(&directory).expect("it exists");
            let is_private = stat.mode() & 0o077 == 0 && stat.uid() == geteuid().as_raw();
            // One that was taken away just when it was made may not be readable.
            set_mode(&directory, 0o700);
            let mut entries = names(&directory);
            if !is_private && !entries.is_empty() {
                failures.push(format!("{directory:?} is not private: {entries:?}"));
            }
            found.append(&mut entries);
        }
        found.sort();
        let mut expected: Vec<_> = captures
            .iter()
            .flat_map(|name| [name.profile(), name.sidecar()])
            .collect();
        expected.sort();
        if found != expected {
            let missing: Vec<_> = expected.iter().filter(|it| !found.contains(it)).collect();
            let strange: Vec<_> = found.iter().filter(|it| !expected.contains(it)).collect();
            failures.push(format!("missing: {missing:?}, not expected: {strange:?}"));
        }
        failures
    }

    /// Every directory that stood at the path itself.
    fn private_directories(&self) -> Vec<PathBuf> {
        let around = self.path.parent().expect("a folder");
        let mut all: Vec<_> = names(around)
            .iter()
            .filter(|name| name.starts_with(WING))
            .map(|name| around.join(name))
            .collect();
        all.push(self.path.clone());
        all.retain(|path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_dir()));
        all
    }
}
