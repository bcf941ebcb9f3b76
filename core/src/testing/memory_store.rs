//! A store without a disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{CaptureName, EntryKind, Recovery, RecoveryPlan, StagedCapture, Store, Usage};
use crate::{Error, ErrorKind, Sidecar};

/// What a [`MemoryStore`] keeps: it outlives the store, as a directory does.
/// Clones are the same directory.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirectory {
    contents: Arc<Mutex<Contents>>,
}

#[derive(Debug, Default)]
struct Contents {
    entries: BTreeMap<String, Entry>,
    bytes_free: Option<u64>,
    /// Which opening of the directory holds it.
    holder: Option<u64>,
    openings: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>),
    /// A directory, a link, a device: not for us to look into.
    Other,
}

impl Contents {
    fn usage(&self) -> Usage {
        let bytes = self.entries.values().map(|entry| match entry {
            Entry::File(bytes) => bytes.len() as u64,
            Entry::Other => 0,
        });
        Usage {
            entries: self.entries.len() as u64,
            bytes: bytes.sum(),
            bytes_free: self.bytes_free,
        }
    }
}

impl MemoryDirectory {
    /// An empty directory.
    pub fn new() -> Self {
        Self::default()
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a regular file there, as somebody else would.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let file = Entry::File(bytes.to_vec());
        self.contents().entries.insert(name.to_owned(), file);
    }

    /// Puts something there that is not a regular file.
    pub fn put_other(&self, name: &str) {
        self.contents()
            .entries
            .insert(name.to_owned(), Entry::Other);
    }

    /// Removes an entry, as somebody else would.
    pub fn remove(&self, name: &str) {
        self.contents().entries.remove(name);
    }

    /// The bytes of a regular file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        match self.contents().entries.get(name)? {
            Entry::File(bytes) => Some(bytes.clone()),
            Entry::Other => None,
        }
    }

    /// The names of all entries, sorted.
    pub fn names(&self) -> Vec<String> {
        self.contents().entries.keys().cloned().collect()
    }

    /// What stands there, as anybody may count it.
    pub fn usage(&self) -> Usage {
        self.contents().usage()
    }

    /// Says how much room is left.
    pub fn set_bytes_free(&self, bytes_free: Option<u64>) {
        self.contents().bytes_free = bytes_free;
    }

    /// Whether a store has the directory open.
    pub fn is_held(&self) -> bool {
        self.contents().holder.is_some()
    }

    /// Takes the directory away from the store that has it open, as the death
    /// of its process does. What that store still tries has no effect.
    pub fn kill_holder(&self) {
        self.contents().holder = None;
    }

    /// The complete captures, in the order of their starts.
    ///
    /// # Panics
    ///
    /// If the sidecar of a profile is missing or cannot be read.
    pub fn captures(&self) -> Vec<(CaptureName, Sidecar)> {
        let profiles = self.names().into_iter().filter_map(|entry| {
            let (name, kind) = CaptureName::parse(&entry)?;
            (kind == EntryKind::Profile).then_some(name)
        });
        profiles
            .map(|name| {
                let json = self
                    .read(&name.sidecar())
                    .unwrap_or_else(|| panic!("{name} has no sidecar"));
                let sidecar =
                    Sidecar::from_json(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
                (name, sidecar)
            })
            .collect()
    }
}

/// A store that keeps captures in memory, with the semantics of a real one.
#[derive(Debug)]
pub struct MemoryStore {
    handle: Handle,
    interrupted: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Debug)]
struct Handle {
    directory: MemoryDirectory,
    opening: u64,
}

impl MemoryStore {
    /// A store on an empty directory of its own.
    ///
    /// ```
    /// use tachograph_core::Store;
    /// use tachograph_core::testing::MemoryStore;
    ///
    /// assert_eq!(MemoryStore::new().usage(512)?.entries, 0);
    /// # Ok::<(), tachograph_core::Error>(())
    /// ```
    pub fn new() -> Self {
        match Self::open(&MemoryDirectory::new()) {
            Ok(store) => store,
            Err(_) => unreachable!("nobody else knows the directory"),
        }
    }

    /// A store on `directory`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InUse`] if another store has it open.
    pub fn open(directory: &MemoryDirectory) -> Result<Self, Error> {
        let mut contents = directory.contents();
        if contents.holder.is_some() {
            return Err(Error::new(
                ErrorKind::InUse,
                "the memory directory is already in use by a recorder",
            ));
        }
        contents.openings += 1;
        let opening = contents.openings;
        contents.holder = Some(opening);
        drop(contents);
        Ok(Self {
            handle: Handle {
                directory: directory.clone(),
                opening,
            },
            interrupted: Arc::default(),
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Handle {
    /// The contents, if this opening still holds the directory.
    fn held(&self) -> Result<MutexGuard<'_, Contents>, Error> {
        let contents = self.directory.contents();
        if contents.holder == Some(self.opening) {
            Ok(contents)
        } else {
            Err(Error::new(ErrorKind::Storage, "the memory store is closed"))
        }
    }
}

impl Store for MemoryStore {
    fn recover(&self) -> Result<Recovery, Error> {
        let mut contents = self.handle.held()?;
        let files = contents
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::File(_)));
        let plan = RecoveryPlan::new(files.map(|(name, _)| name));
        for name in &plan.remove {
            contents.entries.remove(name);
        }
        for name in &plan.recovery.interrupted {
            contents
                .entries
                .insert(name.clone(), Entry::File(Vec::new()));
        }
        drop(contents);
        self.interrupted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&plan.recovery.interrupted);
        Ok(plan.recovery)
    }

    fn usage(&self, _entries_enough: u64) -> Result<Usage, Error> {
        Ok(self.handle.held()?.usage())
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        let partial = name.entry(EntryKind::PartialProfile);
        let mut contents = self.handle.held()?;
        if contents.entries.contains_key(&partial) {
            return Err(taken(&partial));
        }
        contents.entries.insert(partial, Entry::File(Vec::new()));
        drop(contents);
        Ok(Box::new(StagedInMemory {
            handle: self.handle.clone(),
            interrupted: Arc::clone(&self.interrupted),
            name,
        }))
    }

    fn close(&self) {
        if let Ok(mut contents) = self.handle.held() {
            contents.holder = None;
        }
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.close();
    }
}

fn taken(name: &str) -> Error {
    Error::new(ErrorKind::Storage, format!("{name} exists already"))
}

struct StagedInMemory {
    handle: Handle,
    interrupted: Arc<Mutex<Vec<String>>>,
    name: CaptureName,
}

impl StagedCapture for StagedInMemory {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        let mut contents = self.handle.held()?;
        let both = [
            (self.name.sidecar(), sidecar),
            (self.name.profile(), profile),
        ];
        for (name, _) in &both {
            if contents.entries.contains_key(name) {
                return Err(taken(name));
            }
        }
        for (name, bytes) in both {
            contents.entries.insert(name, Entry::File(bytes.to_vec()));
        }
        let interrupted = std::mem::take(
            &mut *self
                .interrupted
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for name in interrupted {
            contents.entries.remove(&name);
        }
        Ok(())
    }
}

impl Drop for StagedInMemory {
    fn drop(&mut self) {
        let partial = self.name.entry(EntryKind::PartialProfile);
        if let Ok(mut contents) = self.handle.held() {
            contents.entries.remove(&partial);
        }
    }
}
