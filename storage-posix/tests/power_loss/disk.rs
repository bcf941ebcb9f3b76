//! What a file system may keep of what was done, when the power fails. Pure.
//!
//! The model promises as little as POSIX does, and less than any journal:
//! - A sync of a file makes its content durable, and not its name. Without one,
//!   each state that the content had since the last sync may be there: as it
//!   was, cut at any length, or with zeros in place of what was written.
//! - A sync of a directory makes the names in it durable, and not what stands
//!   below them. Without one, each name in it stands, independently of all others,
//!   for anything that it stood for since the last sync. So changes of names may
//!   be lost in any order, and a rename may be half there: under both names, or
//!   under neither.
//!
//! Link counts are right, as the check of a file system leaves them; modes are
//! not modelled.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A file or a directory, whatever its name.
pub(crate) type Id = usize;

/// Something that was done to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Names in a directory came to stand for something else, or for nothing.
    Names(Vec<(Id, OsString, Option<Id>)>),
    /// A new and empty directory, which has no name yet.
    Directory(Id),
    /// A file has this content now; a new one has no name yet.
    Content(Id, Vec<u8>),
    /// The file or the directory was synced.
    Sync(Id),
}

/// All that may be on the disk. The last of each list is what is there for
/// those who run; the first was made durable.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    root: Id,
    directories: BTreeMap<Id, BTreeMap<OsString, Vec<Option<Id>>>>,
    files: BTreeMap<Id, Vec<Vec<u8>>>,
}

/// What is on the disk when the power is back, by the path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Remains(BTreeMap<PathBuf, Remnant>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Remnant {
    Directory,
    /// Two of the same number are one file.
    File(Id, Vec<u8>),
}

impl Disk {
    /// An empty disk.
    pub(crate) fn new(root: Id) -> Self {
        Self {
            root,
            directories: BTreeMap::from([(root, BTreeMap::new())]),
            files: BTreeMap::new(),
        }
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Names(changes) => {
                for (directory, name, is) in changes {
                    let names = self.directories.get_mut(directory).expect("it is known");
                    let versions = names.entry(name.clone()).or_insert_with(|| vec![None]);
                    versions.push(*is);
                }
            }
            Event::Directory(id) => {
                self.directories.insert(*id, BTreeMap::new());
            }
            Event::Content(id, content) => {
                let versions = self.files.entry(*id).or_insert_with(|| vec![Vec::new()]);
                versions.push(content.clone());
            }
            Event::Sync(id) => {
                if let Some(versions) = self.files.get_mut(id) {
                    versions.drain(..versions.len() - 1);
                } else {
                    let names = self.directories.get_mut(id).expect("it is known");
                    for versions in names.values_mut() {
                        versions.drain(..versions.len() - 1);
                    }
                }
            }
        }
    }

    /// Makes everything durable.
    pub(crate) fn sync_all(&mut self) {
        let all: Vec<_> = self.directories.keys().chain(self.files.keys()).collect();
        for id in all.into_iter().copied().collect::<Vec<_>>() {
            self.apply(&Event::Sync(id));
        }
    }

    /// Everything that may be there, were the power to fail now. Of the content
    /// of a file whose names are all `unread`, only whether there is any.
    pub(crate) fn after_power_loss(&self, unread: impl Fn(&Path) -> bool) -> BTreeSet<Remains> {
        let mut all = BTreeSet::new();
        for names in self.names(self.root, Path::new("")) {
            let mut files = BTreeMap::new();
            for (path, id) in &names {
                if let Some(id) = id.filter(|id| self.files.contains_key(id)) {
                    *files.entry(id).or_insert(true) &= unread(path);
                }
            }
            let mut contents = vec![BTreeMap::new()];
            for (file, is_unread) in files {
                let mut remains = remains_of(&self.files[&file]);
                if is_unread {
                    remains.sort_by_key(Vec::is_empty);
                    remains.dedup_by_key(|content| content.is_empty());
                }
                contents = product(&contents, &remains, |so_far, content| {
                    let mut so_far = so_far.clone();
                    so_far.insert(file, content.clone());
                    so_far
                });
            }
            for contents in contents {
                let remnants = names.iter().filter_map(|(path, id)| {
                    let id = (*id)?;
                    let remnant = match contents.get(&id) {
                        Some(content) => Remnant::File(id, content.clone()),
                        None => Remnant::Directory,
                    };
                    Some((path.clone(), remnant))
                });
                all.insert(Remains(remnants.collect()));
            }
        }
        all
    }

    /// All that the paths from `directory` on may stand for.
    fn names(&self, directory: Id, at: &Path) -> Vec<BTreeMap<PathBuf, Option<Id>>> {
        let mut all = vec![BTreeMap::new()];
        for (name, versions) in &self.directories[&directory] {
            let path = at.join(name);
            let versions: BTreeSet<_> = versions.iter().copied().collect();
            let mut below = Vec::new();
            for is in versions {
                let mut standing = BTreeMap::from([(path.clone(), is)]);
                match is {
                    Some(id) if self.directories.contains_key(&id) => {
                        for mut names in self.names(id, &path) {
                            names.append(&mut standing.clone());
                            below.push(names);
                        }
                    }
                    _ => below.push(std::mem::take(&mut standing)),
                }
            }
            all = product(&all, &below, |so_far, below| {
                let mut so_far = so_far.clone();
                so_far.extend(below.clone());
                so_far
            });
        }
        all
    }
}

/// All pairs of both, joined.
fn product<A, B, C>(some: &[A], others: &[B], join: impl Fn(&A, &B) -> C) -> Vec<C> {
    some.iter()
        .flat_map(|one| {
            others
                .iter()
                .map(|other| join(one, other))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What may be left of a file that had these contents since it was synced.
fn remains_of(versions: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut all = BTreeSet::new();
    let (durable, since) = versions.split_first().expect("a file has a content");
    all.insert(durable.clone());
    for content in since {
        let length = content.len();
        for cut in [0, 1, length / 2, length.saturating_sub(1), length] {
            all.insert(content[..cut.min(length)].to_vec());
        }
        all.insert(vec![0; length]);
    }
    all.into_iter().collect()
}

impl Remains {
    /// Puts all of it below `root`, for real.
    pub(crate) fn put(&self, root: &Path) {
        let mut written = BTreeMap::new();
        // A directory comes before what is in it.
        for (path, remnant) in &self.0 {
            let path = root.join(path);
            match remnant {
                Remnant::Directory => {
                    fs::create_dir(&path).expect("create");
                    crate::common::set_mode(&path, 0o700);
                }
                Remnant::File(id, content) => match written.get(id) {
                    Some(first) => fs::hard_link(first, &path).expect("link"),
                    None => {
                        fs::write(&path, content).expect("write");
                        written.insert(*id, path);
                    }
                },
            }
        }
    }

    /// The contents of the files in the directory at `path`, by their names.
    pub(crate) fn files(&self, path: &Path) -> BTreeMap<String, Vec<u8>> {
        let in_it = self.0.iter().filter(|(at, _)| at.parent() == Some(path));
        in_it
            .filter_map(|(at, remnant)| match remnant {
                Remnant::Directory => None,
                Remnant::File(_, content) => {
                    let name = at.file_name().and_then(|name| name.to_str());
                    Some((name.expect("UTF-8").to_owned(), content.clone()))
                }
            })
            .collect()
    }
}

#[test]
fn what_the_model_keeps() {
    let change = |name: &str, is| Event::Names(vec![(0, name.into(), is)]);
    let files = |disk: &Disk| -> BTreeSet<_> {
        let all = disk.after_power_loss(|_| false);
        all.iter()
            .map(|remains| remains.files(Path::new("")))
            .collect()
    };
    let file = |name: &str, content: &str| (name.to_owned(), content.as_bytes().to_vec());
    let mut disk = Disk::new(0);
    disk.apply(&Event::Content(1, Vec::new()));
    disk.apply(&change("old", Some(1)));
    disk.apply(&Event::Content(1, b"ab".to_vec()));
    let expected = [
        BTreeMap::new(),
        BTreeMap::from([file("old", "")]),
        BTreeMap::from([file("old", "a")]),
        BTreeMap::from([file("old", "ab")]),
        BTreeMap::from([file("old", "\0\0")]),
    ];
    assert_eq!(files(&disk), BTreeSet::from(expected));

    disk.apply(&Event::Sync(1));
    let expected = [BTreeMap::new(), BTreeMap::from([file("old", "ab")])];
    assert_eq!(files(&disk), BTreeSet::from(expected));

    disk.apply(&Event::Sync(0));
    let both = [(0, "old".into(), None), (0, "new".into(), Some(1))];
    disk.apply(&Event::Names(both.to_vec()));
    let expected = [
        BTreeMap::new(),
        BTreeMap::from([file("old", "ab")]),
        BTreeMap::from([file("new", "ab")]),
        BTreeMap::from([file("new", "ab"), file("old", "ab")]),
    ];
    assert_eq!(files(&disk), BTreeSet::from(expected));

    disk.sync_all();
    assert_eq!(
        files(&disk),
        BTreeSet::from([BTreeMap::from([file("new", "ab")])])
    );
}
