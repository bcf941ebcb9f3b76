//! What stands in the directory, and what may.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use tachograph_core::store::{CaptureName, EntryKind};

use super::{Budgets, Finding};
use crate::error::{Error, Result};
use crate::save::is_locked;

/// A directory at one moment.
pub(super) struct Directory {
    pub(super) path: PathBuf,
    metadata: Metadata,
    entries: BTreeMap<String, Entry>,
    /// Whether a recorder is at work in it.
    is_recorded_into: bool,
}

struct Entry {
    metadata: Metadata,
    capture: Option<(CaptureName, EntryKind)>,
}

impl Directory {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Finding(format!("{}: {error}", path.display()));
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        // Asked before listing: a recorder that ends meanwhile leaves nothing behind.
        let is_recorded_into = is_locked(path);
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // What vanishes meanwhile was not there.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let name = entry.file_name();
            let capture = name.to_str().and_then(CaptureName::parse);
            let name = name.to_string_lossy().into_owned();
            entries.insert(name, Entry { metadata, capture });
        }
        Ok(Self {
            path: path.to_owned(),
            metadata,
            entries,
            is_recorded_into,
        })
    }

    /// The captures whose profile and sidecar both stand there, as regular files: a pipe
    /// would be waited for, and a link leads elsewhere.
    pub(super) fn complete(&self) -> impl Iterator<Item = CaptureName> {
        let names = self.entries.values().filter_map(|entry| entry.capture);
        let profiles = names.filter(|(_, kind)| *kind == EntryKind::Profile);
        profiles.map(|(name, _)| name).filter(|name| {
            [EntryKind::Profile, EntryKind::Sidecar]
                .iter()
                .all(|it| self.has_file(*name, *it))
        })
    }

    fn has_file(&self, name: CaptureName, kind: EntryKind) -> bool {
        let entry = self.entries.get(&name.entry(kind));
        entry.is_some_and(|it| it.metadata.is_file())
    }

    fn has(&self, name: CaptureName, kind: EntryKind) -> bool {
        self.entries.contains_key(&name.entry(kind))
    }

    pub(super) fn findings(&self, budgets: &Budgets) -> Vec<Finding> {
        let mut findings = self.permissions();
        findings.extend(self.pairs());
        findings.extend(self.budgets(budgets));
        findings
    }

    fn permissions(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.metadata.is_symlink() {
            findings.push(Finding::new(
                "",
                "the directory is a symlink; a recorder uses the directory itself",
            ));
        }
        findings.extend(system::directory(&self.path).map(|it| Finding::new("", it)));
        for (name, entry) in &self.entries {
            if entry.capture.is_none() {
                findings.push(Finding::new(
                    name,
                    "no part of a capture has such a name, and it counts against the budget",
                ));
            } else if !entry.metadata.is_file() {
                findings.push(Finding::new(name, "this is not a regular file"));
            } else {
                let own = system::file(&entry.metadata, &self.path);
                findings.extend(own.into_iter().map(|it| Finding::new(name, it)));
            }
        }
        findings
    }

    fn pairs(&self) -> Vec<Finding> {
        // The one at work is the newest.
        let newest = self
            .entries
            .values()
            .filter_map(|it| it.capture)
            .map(|(name, _)| name)
            .max();
        let mut findings = Vec::new();
        for (name, entry) in &self.entries {
            let Some((capture, kind)) = entry.capture else {
                continue;
            };
            let is_at_work = self.is_recorded_into && Some(capture) == newest;
            let finding = match kind {
                EntryKind::Profile if !self.has(capture, EntryKind::Sidecar) => {
                    "it has no sidecar beside it"
                }
                EntryKind::Sidecar if !self.has(capture, EntryKind::Profile) && !is_at_work => {
                    "it has no profile beside it"
                }
                EntryKind::PartialProfile if !is_at_work => {
                    "it is unfinished: the process ended during the capture"
                }
                EntryKind::PartialSidecar if !is_at_work => {
                    "it is unfinished: the process ended while it was written"
                }
                _ => continue,
            };
            findings.push(Finding::new(name, finding));
        }
        findings
    }

    fn budgets(&self, budgets: &Budgets) -> Vec<Finding> {
        let mut findings = Vec::new();
        let entries = self.entries.len() as u64;
        if entries > budgets.entries {
            findings.push(Finding::new(
                "",
                format!("{entries} entries, over the budget of {}", budgets.entries),
            ));
        }
        let files = self.entries.values().map(|it| &it.metadata);
        let bytes = files.filter(|it| it.is_file()).map(Metadata::len);
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > budgets.bytes {
            findings.push(Finding::new(
                "",
                format!("{bytes} bytes, over the budget of {}", budgets.bytes),
            ));
        }
        for (name, entry) in &self.entries {
            let most = match entry.capture {
                Some((_, EntryKind::Profile)) => budgets.profile_bytes,
                Some((_, EntryKind::Sidecar)) => budgets.sidecar_bytes,
                _ => continue,
            };
            let bytes = entry.metadata.len();
            if bytes > most {
                findings.push(Finding::new(
                    name,
                    format!("{bytes} bytes, over the budget of {most}"),
                ));
            }
        }
        findings
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    pub(super) fn directory(path: &Path) -> Option<String> {
        let mode = fs::metadata(path).ok()?.mode() & 0o7777;
        (mode & 0o077 != 0).then(|| {
            format!(
                "the directory has mode {mode:04o}; it must have no permission for group or others"
            )
        })
    }

    pub(super) fn file(file: &Metadata, directory: &Path) -> Vec<String> {
        let mut findings = Vec::new();
        let mode = file.mode() & 0o7777;
        if mode != 0o600 {
            findings.push(format!("it has mode {mode:04o}; a recorder gives 0600"));
        }
        if let Ok(directory) = fs::metadata(directory)
            && directory.uid() != file.uid()
        {
            findings.push(format!(
                "it belongs to user {}, the directory to user {}",
                file.uid(),
                directory.uid()
            ));
        }
        findings
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::Metadata;
    use std::path::Path;

    // Recorders run on Linux and macOS; what was copied elsewhere has no modes.
    pub(super) fn directory(_: &Path) -> Option<String> {
        None
    }

    pub(super) fn file(_: &Metadata, _: &Path) -> Vec<String> {
        Vec::new()
    }
}
