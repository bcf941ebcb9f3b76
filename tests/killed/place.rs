//! Where a process records, and what stands there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use tachograph::store::{CaptureName, EntryKind};
use tachograph::testing::{InlineOffload, ManualClock, Simulation};
use tachograph::{Instant, Timestamp};
use tempfile::TempDir;

use crate::made::MadeSampler;

const NOTES: &str = "notes.txt";

pub(crate) struct Place {
    _temporary: TempDir,
    path: PathBuf,
    /// What stood there before any process did, but for the leftovers.
    before: BTreeMap<String, Vec<u8>>,
}

impl Place {
    /// The directory is missing, and so is one above it.
    pub(crate) fn missing() -> Self {
        Self::at("above/profiles")
    }

    /// The directory is empty.
    pub(crate) fn empty() -> Self {
        let place = Self::at("profiles");
        make_private(&place.path);
        place
    }

    /// An earlier capture stands there, somebody else's file, and all that a
    /// crash can leave.
    pub(crate) fn with_leftovers() -> Self {
        static EARLIER: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
        let mut place = Self::empty();
        place.before.clone_from(EARLIER.get_or_init(earlier));
        place.before.insert(NOTES.into(), b"somebody else's".into());
        let put = |name: &str, content: &[u8]| {
            let path = place.path.join(name);
            fs::write(&path, content).expect("write");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set the mode");
        };
        for (name, content) in &place.before {
            put(name, content);
        }
        let crashed = [1, 2].map(|hours| CaptureName::new(hours_ago(hours)));
        put(&crashed[0].entry(EntryKind::PartialProfile), b"unfinished");
        put(&crashed[0].entry(EntryKind::PartialSidecar), b"unfinished");
        put(&crashed[1].sidecar(), b"without a profile");
        place
    }

    /// Two processes have died here during captures.
    pub(crate) fn of_two_deaths() -> Self {
        let place = Self::empty();
        for hours in [1, 2] {
            let name = CaptureName::new(hours_ago(hours));
            let path = place.path.join(name.entry(EntryKind::PartialProfile));
            fs::write(path, "unfinished").expect("write");
        }
        place
    }

    fn at(path: &str) -> Self {
        let temporary = tempfile::tempdir().expect("a directory");
        Self {
            path: temporary.path().join(path),
            _temporary: temporary,
            before: BTreeMap::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all that stands there, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    /// All parts of captures that stand there.
    pub(crate) fn ours(&self) -> Vec<(CaptureName, EntryKind)> {
        let names = self.names();
        names
            .iter()
            .filter_map(|name| CaptureName::parse(name))
            .collect()
    }

    /// The unfinished profiles that stand there.
    pub(crate) fn interrupted(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| {
            matches!(
                CaptureName::parse(name),
                Some((_, EntryKind::PartialProfile))
            )
        });
        names
    }

    pub(crate) fn bytes(&self, name: &str) -> u64 {
        fs::metadata(self.path.join(name)).expect("it stands").len()
    }

    /// Panics if what stood there before is not there as it was.
    pub(crate) fn ensure_untouched(&self) {
        for (name, content) in &self.before {
            let is = fs::read(self.path.join(name)).unwrap_or_default();
            assert!(is == *content, "{name} was touched");
        }
    }

    /// Panics unless every profile decodes, has its sidecar and is what that
    /// says.
    pub(crate) fn ensure_whole(&self) {
        let pairs = tempfile::tempdir().expect("a directory");
        for (capture, kind) in self.ours() {
            if kind == EntryKind::Profile {
                for part in [capture.profile(), capture.sidecar()] {
                    let linked = fs::hard_link(self.path.join(&part), pairs.path().join(&part));
                    assert!(linked.is_ok(), "{part} does not stand there");
                }
            }
        }
        tachograph_tests::captures(pairs.path());
    }
}

fn hours_ago(hours: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(3600 * hours)
}

fn make_private(path: &Path) {
    fs::create_dir(path).expect("create");
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("set the mode");
}

/// A capture of yesterday.
fn earlier() -> BTreeMap<String, Vec<u8>> {
    let temporary = tempfile::tempdir().expect("a directory");
    let path = temporary.path().join("profiles");
    let wall = hours_ago(24);
    let clock = ManualClock::new(wall);
    let (recorder, driver) = tachograph::builder()
        .directory(&path)
        .until(Timestamp::from(wall + Duration::from_secs(3600)).to_string())
        .sampler(MadeSampler)
        .build(clock.clone(), InlineOffload)
        .expect("it starts");
    let mut simulation = Simulation::new(clock);
    simulation.spawn(driver);
    simulation.run_until(Instant::from_origin(Duration::from_secs(60)));
    assert!(simulation.run_to_end(recorder.stop()));
    let entries = fs::read_dir(&path).expect("a directory");
    entries
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            (name, fs::read(entry.path()).expect("readable"))
        })
        .collect()
}
