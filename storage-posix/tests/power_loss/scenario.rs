//! What a store does before the power fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tachograph_core::Store as _;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_storage_posix::{PosixStore, seam};

use crate::common::{name, set_mode};
use crate::disk::{Disk, Id};
use crate::faulty::Faulty;
use crate::journal::{Journal, Line};
use crate::memory;

/// What is there when the store is opened, durably.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Neither the directory nor the one above it.
    Missing,
    /// A directory with a whole capture, all that a crash can leave, and a
    /// foreign file.
    Leftovers,
}

impl Start {
    /// Where the private directory is, from the root of the disk.
    pub(crate) fn directory(self) -> &'static Path {
        Path::new(match self {
            Self::Missing => "above/profiles",
            Self::Leftovers => "profiles",
        })
    }
}

/// The journal of a store.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) start: Start,
    pub(crate) root: Id,
    /// What is known of the disk before the store is opened.
    pub(crate) before: usize,
    pub(crate) lines: Vec<Line>,
    /// What the captures are when they are whole: profile and sidecar.
    pub(crate) whole: BTreeMap<CaptureName, (Vec<u8>, Vec<u8>)>,
}

/// A profile and a sidecar that says its sum.
fn capture(second: u64) -> (Vec<u8>, Vec<u8>) {
    let profile = format!("the profile of second {second}").into_bytes();
    let sidecar = format!("{{\"Sha256\": \"{}\"}}\n", sha256(&profile));
    (profile, sidecar.into_bytes())
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Scenario {
    pub(crate) fn run(start: Start, hook: Arc<Faulty>) -> Self {
        let temporary = memory::temporary();
        let path = temporary.path().join(start.directory());
        let seconds = [1, 10, 11];
        let whole: BTreeMap<_, _> = seconds.map(|it| (name(it), capture(it))).into();
        if start == Start::Leftovers {
            prepare(&path, &whole[&name(1)]);
        }
        let (journal, root) = Journal::begin(temporary.path(), hook.clone());
        let before = journal.lines().len();
        if start == Start::Leftovers {
            journal.write(Line::Published(name(1)));
        }

        let _installed = seam::install(journal.clone());
        hook.begin("open");
        let store = PosixStore::open(&path).expect("it can be opened");
        hook.begin("recover");
        store.recover().expect("recovered");
        for second in [10, 11] {
            // As the recorder does, it ends at the first that fails.
            let (profile, sidecar) = &whole[&name(second)];
            hook.begin("stage");
            let Ok(staged) = store.stage(name(second)) else {
                break;
            };
            hook.begin(if second == 10 {
                "publish"
            } else {
                "publish again"
            });
            match staged.publish(sidecar, profile) {
                Ok(()) => journal.write(Line::Published(name(second))),
                Err(_) => {
                    let stands = path.join(name(second).sidecar()).exists();
                    if !stands {
                        journal.write(Line::Withdrawn(name(second)));
                    }
                    break;
                }
            }
        }
        hook.begin("close");
        store.close();
        drop(store);
        Self {
            start,
            root,
            before,
            lines: journal.lines(),
            whole,
        }
    }

    /// The disk before the store is opened.
    pub(crate) fn disk(&self) -> Disk {
        let mut disk = Disk::new(self.root);
        for line in &self.lines[..self.before] {
            if let Line::Done(event) = line {
                disk.apply(event);
            }
        }
        disk.sync_all();
        disk
    }
}

fn prepare(path: &PathBuf, (profile, sidecar): &(Vec<u8>, Vec<u8>)) {
    fs::create_dir(path).expect("create");
    set_mode(path, 0o700);
    let put = |name: String, content: &[u8]| fs::write(path.join(name), content).expect("write");
    put(name(1).profile(), profile);
    put(name(1).sidecar(), sidecar);
    put(name(2).entry(EntryKind::PartialProfile), b"unfinished");
    put(name(2).entry(EntryKind::PartialSidecar), b"unfinished");
    put(name(3).sidecar(), b"without a profile");
    put(name(4).entry(EntryKind::PartialProfile), b"unfinished");
    put("notes.txt".into(), b"somebody else's");
}
