//! Writes down what a store does to the disk.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, FileType, Stat};
use tachograph_core::store::CaptureName;
use tachograph_storage_posix::seam::{Call, Hook, Operation};

use crate::disk::{Event, Id};
use crate::faulty::Faulty;

/// What a store has done, and said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Done(Event),
    /// It was told that this capture is published.
    Published(CaptureName),
    /// It was told that this capture is not published, and nothing of it left.
    Withdrawn(CaptureName),
}

/// A hook that keeps a journal of what gets past another hook.
pub(crate) struct Journal {
    inner: Arc<Faulty>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    lines: Vec<Line>,
    /// By what the system calls them, which it may do again once they are gone.
    known: BTreeMap<u64, Id>,
    ids: Id,
    contents: BTreeMap<Id, Vec<u8>>,
}

impl Book {
    fn new_id(&mut self, stat: &Stat) -> Id {
        self.ids += 1;
        self.known.insert(stat.st_ino, self.ids);
        self.ids
    }

    fn id(&self, stat: &Stat) -> Id {
        self.known[&stat.st_ino]
    }

    fn done(&mut self, event: Event) {
        if let Event::Content(id, content) = &event {
            self.contents.insert(*id, content.clone());
        }
        self.lines.push(Line::Done(event));
    }
}

impl Journal {
    /// A journal that begins with what stands below `root`, and the number of
    /// `root` in it.
    pub(crate) fn begin(root: &Path, inner: Arc<Faulty>) -> (Arc<Self>, Id) {
        let mut book = Book::default();
        let root_stat = rustix::fs::stat(root).expect("it exists");
        let root_id = book.new_id(&root_stat);
        let mut left = vec![(root.to_owned(), root_id)];
        while let Some((directory, id)) = left.pop() {
            for entry in std::fs::read_dir(&directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                let stat = rustix::fs::lstat(&path).expect("it exists");
                let below = book.new_id(&stat);
                if FileType::from_raw_mode(stat.st_mode).is_dir() {
                    book.done(Event::Directory(below));
                    left.push((path.clone(), below));
                } else {
                    let content = std::fs::read(&path).expect("readable");
                    book.done(Event::Content(below, content));
                }
                let name = path.file_name().expect("an entry has a name").to_owned();
                book.done(Event::Names(vec![(id, name, Some(below))]));
            }
        }
        let journal = Self {
            inner,
            book: Mutex::new(book),
        };
        (Arc::new(journal), root_id)
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.book().lines.clone()
    }

    pub(crate) fn write(&self, line: Line) {
        self.book().lines.push(line);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook for Journal {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        self.inner.before(call)
    }

    fn after(&self, call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        if outcome.is_ok() {
            self.book().note(call)?;
        }
        self.inner.after(call, outcome)
    }
}

impl Book {
    fn note(&mut self, call: &Call<'_>) -> io::Result<()> {
        let stat = rustix::fs::fstat(call.descriptor);
        let entry = |name: &Path| stat_entry(call.descriptor, name);
        match (call.operation, call.name, call.new_name) {
            (Operation::Create, Some(name), _) => {
                let id = self.new_id(&entry(name)?);
                self.done(Event::Content(id, Vec::new()));
                let change = (self.id(&stat?), name.into(), Some(id));
                self.done(Event::Names(vec![change]));
            }
            (Operation::MakeDirectory, Some(name), _) => {
                let id = self.new_id(&entry(name)?);
                self.done(Event::Directory(id));
                let change = (self.id(&stat?), name.into(), Some(id));
                self.done(Event::Names(vec![change]));
            }
            (Operation::Remove | Operation::RemoveDirectory, Some(name), _) => {
                let change = (self.id(&stat?), name.into(), None);
                self.done(Event::Names(vec![change]));
            }
            (Operation::Rename, Some(name), Some(new_name)) => {
                let directory = self.id(&stat?);
                let id = self.id(&entry(new_name)?);
                let from = (directory, name.into(), None);
                let to = (directory, new_name.into(), Some(id));
                self.done(Event::Names(vec![from, to]));
            }
            (Operation::Link, Some(_), Some(new_name)) => {
                let id = self.id(&entry(new_name)?);
                let change = (self.id(&stat?), new_name.into(), Some(id));
                self.done(Event::Names(vec![change]));
            }
            (Operation::Write, ..) => {
                let id = self.id(&stat?);
                let mut content = self.contents[&id].clone();
                content.extend_from_slice(call.bytes);
                self.done(Event::Content(id, content));
            }
            (Operation::Truncate, ..) => {
                let id = self.id(&stat?);
                self.done(Event::Content(id, Vec::new()));
            }
            (Operation::Sync, ..) => {
                let id = self.id(&stat?);
                self.done(Event::Sync(id));
            }
            // The others leave nothing on the disk that the model knows of.
            _ => {}
        }
        Ok(())
    }
}

fn stat_entry(directory: BorrowedFd<'_>, name: &Path) -> rustix::io::Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}
