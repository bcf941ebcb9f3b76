//! What must hold of whatever is found when the power is back.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tachograph_core::Store as _;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_storage_posix::PosixStore;

use crate::common::{name, names};
use crate::disk::Remains;
use crate::journal::Line;
use crate::memory;
use crate::scenario::{Scenario, Start, sha256};

/// All states that were judged. Most are found at many moments; each is judged
/// once for what was promised until then.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) moments: usize,
    pub(crate) states: BTreeMap<(Remains, Promises), Result<(), String>>,
}

impl Judged {
    pub(crate) fn failures(&self) -> Vec<&String> {
        self.states
            .values()
            .filter_map(|it| it.as_ref().err())
            .collect()
    }
}

/// What the store has promised so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Promises {
    /// These captures stand.
    published: BTreeSet<CaptureName>,
    /// These do not.
    withdrawn: BTreeSet<CaptureName>,
}

/// Lets the power fail after every line of the journal.
pub(crate) fn judge(scenario: &Scenario, judged: &mut Judged) {
    let mut disk = scenario.disk();
    let mut promises = Promises::default();
    for line in &scenario.lines[scenario.before..] {
        match line {
            Line::Done(event) => disk.apply(event),
            Line::Published(name) => {
                promises.published.insert(*name);
            }
            Line::Withdrawn(name) => {
                promises.withdrawn.insert(*name);
            }
        }
        judged.moments += 1;
        // Nobody reads what is in an unfinished file.
        let unread = |path: &Path| path.extension().is_some_and(|it| it == "partial");
        for remains in disk.after_power_loss(unread) {
            let key = (remains, promises.clone());
            if let Entry::Vacant(entry) = judged.states.entry(key) {
                let (remains, promises) = entry.key();
                let judgement = judge_one(scenario, remains, promises)
                    .map_err(|why| format!("after {line:?}: {why}\n{remains:?}"));
                entry.insert(judgement);
            }
        }
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn judge_one(scenario: &Scenario, remains: &Remains, promises: &Promises) -> Result<(), String> {
    let directory = scenario.start.directory();
    let found = remains.files(directory);
    judge_reading(scenario, &found, promises)?;

    let temporary = memory::temporary();
    remains.put(temporary.path());
    judge_recovery(scenario, &found, &temporary.path().join(directory))
}

/// What a reader finds, before anybody has put anything away.
fn judge_reading(
    scenario: &Scenario,
    found: &BTreeMap<String, Vec<u8>>,
    promises: &Promises,
) -> Result<(), String> {
    let mut standing = BTreeSet::new();
    for (entry, profile) in found {
        let Some((capture, EntryKind::Profile)) = CaptureName::parse(entry) else {
            continue;
        };
        let sidecar = found.get(&capture.sidecar());
        let sidecar = sidecar.ok_or_else(|| format!("{entry} has no sidecar"))?;
        let says_so = String::from_utf8_lossy(sidecar).contains(&sha256(profile));
        ensure(says_so, || format!("{entry} is not what its sidecar says"))?;
        ensure(
            scenario.whole[&capture] == (profile.clone(), sidecar.clone()),
            || format!("{entry} is not whole"),
        )?;
        standing.insert(capture);
    }
    let lost = promises.published.difference(&standing).next();
    ensure(lost.is_none(), || {
        format!("{lost:?} was published and is lost")
    })?;
    let back = promises.withdrawn.intersection(&standing).next();
    ensure(back.is_none(), || {
        format!("{back:?} was withdrawn and is back")
    })
}

/// What the next store makes of it.
fn judge_recovery(
    scenario: &Scenario,
    found: &BTreeMap<String, Vec<u8>>,
    path: &Path,
) -> Result<(), String> {
    let of_kind = |kind| -> BTreeSet<CaptureName> {
        let parsed = found.keys().filter_map(|entry| CaptureName::parse(entry));
        parsed
            .filter(|&(_, it)| it == kind)
            .map(|(name, _)| name)
            .collect()
    };
    let interrupted = of_kind(EntryKind::PartialProfile);
    let profiles = of_kind(EntryKind::Profile);

    let failed = |error: tachograph_core::Error| format!("the next store fails: {error:#}");
    let store = PosixStore::open(path).map_err(failed)?;
    let recovery = store.recover().map_err(failed)?;
    let partial = |name: &CaptureName| name.entry(EntryKind::PartialProfile);
    let expected: Vec<_> = interrupted.iter().map(partial).collect();
    ensure(recovery.interrupted == expected, || {
        format!(
            "{expected:?} stand, and {:?} are told",
            recovery.interrupted
        )
    })?;
    let newest = found.keys().filter_map(|entry| CaptureName::parse(entry));
    let newest = newest.map(|(name, _)| name.start()).max();
    ensure(recovery.newest == newest, || {
        format!("the newest is told to be {:?}", recovery.newest)
    })?;

    // What explains nothing is gone, what was unfinished is empty, and all else
    // is as it was.
    let is_foreign = |entry: &&String| CaptureName::parse(entry).is_none();
    let whole = |profiles: &BTreeSet<CaptureName>| -> BTreeSet<String> {
        let pairs = profiles.iter().flat_map(|it| [it.profile(), it.sidecar()]);
        pairs
            .chain(found.keys().filter(is_foreign).cloned())
            .collect()
    };
    let kept: BTreeSet<_> = whole(&profiles).into_iter().chain(expected).collect();
    ensure(names(path).into_iter().eq(kept), || {
        format!("recovery leaves {:?}", names(path))
    })?;
    for capture in &interrupted {
        let stat = fs::metadata(path.join(partial(capture))).expect("it stands");
        // One that is a complete profile too, half renamed, is not touched.
        ensure(stat.len() == 0 || stat.nlink() == 2, || {
            format!("{capture} is not emptied")
        })?;
    }

    // The next complete capture, and they are gone.
    let later = name(20);
    let staged = store.stage(later).map_err(failed)?;
    staged.publish(b"sidecar", b"profile").map_err(failed)?;
    store.close();
    let mut standing = whole(&profiles);
    standing.extend([later.profile(), later.sidecar()]);
    ensure(names(path).into_iter().eq(standing), || {
        format!("a later capture leaves {:?}", names(path))
    })?;
    for (entry, content) in found.iter().filter(|(entry, _)| {
        let capture = CaptureName::parse(entry).map(|(capture, _)| capture);
        capture.is_none_or(|capture| profiles.contains(&capture)) && !entry.ends_with(".partial")
    }) {
        let is = fs::read(path.join(entry)).expect("it stands");
        ensure(is == *content, || format!("{entry} was changed"))?;
    }
    ensure(
        scenario.start == Start::Missing || found.contains_key("notes.txt"),
        || "a foreign file is gone".into(),
    )
}
