//! What a recorder asks of its store in a short life, and the places it is
//! asked in.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_core::{Error, Store as _};
use tachograph_storage_posix::{PosixStore, seam};
use tempfile::TempDir;

use crate::common::{self, name};
use crate::faulty::Faulty;
use crate::memory;

pub(crate) const SIDECAR: &[u8] = b"the sidecar";
pub(crate) const PROFILE: &[u8] = b"the profile";

/// What is missing above a missing directory.
const ABOVE: &str = "above";

/// The capture of the script.
pub(crate) fn captured() -> CaptureName {
    name(10)
}

/// The one that it throws away.
pub(crate) fn discarded() -> CaptureName {
    name(11)
}

/// Where the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The directory is missing, and so is one above it.
    Missing,
    /// A crash has left something in it, and somebody else has, too.
    Leftovers,
}

/// As [`common::snapshot`] tells it.
type Standing = (PathBuf, u32, u32, u64, Vec<u8>);

pub(crate) struct Place {
    temporary: TempDir,
    pub(crate) path: PathBuf,
    foreign: Vec<Standing>,
}

impl Place {
    pub(crate) fn new(start: Start) -> Self {
        let temporary = memory::temporary();
        let outside = temporary.path().join("outside");
        fs::write(&outside, "untouched").expect("write");
        let path = match start {
            Start::Missing => temporary.path().join(ABOVE).join("profiles"),
            Start::Leftovers => temporary.path().join("profiles"),
        };
        if start == Start::Leftovers {
            fs::create_dir(&path).expect("create");
            common::set_mode(&path, 0o700);
            let put = |name: &str| fs::write(path.join(name), name).expect("write");
            put(&name(1).profile());
            put(&name(1).sidecar());
            put(&name(2).entry(EntryKind::PartialProfile));
            put(&name(2).entry(EntryKind::PartialSidecar));
            put(&name(3).sidecar());
            put("notes.txt");
            let linked = name(4).entry(EntryKind::PartialProfile);
            fs::hard_link(&outside, path.join(linked)).expect("link");
            symlink(&outside, path.join(name(5).sidecar())).expect("symlink");
            fs::create_dir(path.join("directory")).expect("create");
        }
        let mut place = Self {
            temporary,
            path,
            foreign: Vec::new(),
        };
        place.foreign = place.foreign();
        place
    }

    /// What stands around that no store may touch.
    fn foreign(&self) -> Vec<Standing> {
        let earlier = [name(1).profile(), name(1).sidecar(), name(5).sidecar()];
        let mut all = common::snapshot(self.temporary.path());
        all.retain(|(path, ..)| {
            let entry = path.file_name().and_then(|name| name.to_str());
            let entry = entry.expect("UTF-8");
            let is_ours = CaptureName::parse(entry).is_some();
            let is_made = matches!(entry, ABOVE | "profiles");
            !is_made && (!is_ours || earlier.iter().any(|earlier| earlier == entry))
        });
        all
    }

    /// Whether anything is left of a directory that was missing.
    pub(crate) fn is_half_made(&self) -> bool {
        self.temporary.path().join(ABOVE).exists()
    }

    pub(crate) fn is_foreign_untouched(&self) -> bool {
        self.foreign() == self.foreign
    }

    /// What stands in the directory and is named like a part of a capture, by
    /// what the file says.
    pub(crate) fn ours(&self) -> BTreeMap<String, Vec<u8>> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return BTreeMap::new();
        };
        entries
            .map(|entry| entry.expect("an entry"))
            .filter(|entry| entry.file_type().expect("known").is_file())
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                CaptureName::parse(&name)?;
                Some((name, fs::read(entry.path()).expect("readable")))
            })
            .collect()
    }

    /// Whether this process still has anything open in here.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_open(&self) -> bool {
        let descriptors = fs::read_dir("/proc/self/fd").expect("listed");
        descriptors
            // One that another thread closes meanwhile is none of ours.
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .any(|target| target.starts_with(self.temporary.path()))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_open(&self) -> bool {
        false
    }
}

/// Runs the script under `hook`, up to its first error, and lets go of all.
pub(crate) fn run(path: &Path, hook: &Arc<Faulty>) -> Result<(), Error> {
    run_under(path, hook, hook.clone())
}

/// The same, with another hook around that one.
pub(crate) fn run_under(
    path: &Path,
    hook: &Faulty,
    outer: Arc<dyn seam::Hook>,
) -> Result<(), Error> {
    let _installed = seam::install(outer);
    hook.begin("open");
    let store = PosixStore::open(path)?;
    let done = (|| {
        hook.begin("recover");
        store.recover()?;
        hook.begin("usage");
        store.usage(512)?;
        hook.begin("stage");
        let staged = store.stage(captured())?;
        hook.begin("publish");
        staged.publish(SIDECAR, PROFILE)?;
        hook.begin("stage again");
        let staged = store.stage(discarded())?;
        hook.begin("discard");
        drop(staged);
        Ok(())
    })();
    if done.is_ok() {
        hook.begin("close");
    }
    store.close();
    drop(store);
    done
}
