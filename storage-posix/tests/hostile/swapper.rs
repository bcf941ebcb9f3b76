//! A thread that changes what stands at a path.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::common::{NOBODY, is_root, set_mode};
use crate::scene::{Scene, WING};

/// Changes the path of a scene until it is stopped.
pub(crate) struct Swapper {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    swaps: AtomicU64,
}

impl Swapper {
    pub(crate) fn start(scene: &Scene) -> Self {
        let shared = Arc::new(Shared::default());
        let mut hands = Hands::new(scene, Arc::clone(&shared));
        let thread = thread::spawn(move || {
            while !hands.shared.is_over.load(Ordering::Relaxed) {
                hands.round();
            }
        });
        Self { shared, thread }
    }

    /// How often the path has changed.
    ///
    /// # Panics
    ///
    /// If it never will again.
    pub(crate) fn swaps(&self) -> u64 {
        assert!(!self.thread.is_finished(), "the swapper has failed");
        self.shared.swaps.load(Ordering::Acquire)
    }

    /// Returns once the path has changed again.
    pub(crate) fn next_swap(&self) {
        let before = self.swaps();
        while self.swaps() == before {
            thread::yield_now();
        }
    }

    /// Stops, and says how often the path has changed.
    pub(crate) fn stop(self) -> u64 {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it swaps to the end");
        self.shared.swaps.load(Ordering::Acquire)
    }
}

struct Hands {
    shared: Arc<Shared>,
    path: PathBuf,
    bystanders: Vec<PathBuf>,
    /// Made here, to be put at the path.
    prepared: PathBuf,
    /// The next name that stood there before.
    number: u64,
    /// The private directories that stood there before.
    resting: VecDeque<PathBuf>,
}

/// After so many private directories, the first returns to the path.
const RESTING_MAX: usize = 512;

impl Hands {
    fn new(scene: &Scene, shared: Arc<Shared>) -> Self {
        Self {
            shared,
            path: scene.path.clone(),
            bystanders: scene.bystanders.iter().map(|(it, _)| it.clone()).collect(),
            prepared: scene.path.with_file_name("prepared"),
            number: 0,
            resting: VecDeque::new(),
        }
    }

    /// Directories that may be used, symlinks, nothing, and what must be refused.
    fn round(&mut self) {
        for target in self.bystanders.clone() {
            self.put_private();
            self.linger();
            self.put_symlink(&target);
            self.linger();
            self.put_private();
            self.clear();
            // In the very moment in which somebody makes a directory.
            symlink(&target, &self.prepared).expect("symlink");
            self.linger_while_empty();
            self.put_prepared();
            self.clear();
        }
        self.put_symlink(Path::new("nowhere"));
        fs::write(&self.prepared, "").expect("write");
        self.put_prepared();
        self.put_refused(0o777, None);
        if is_root() {
            self.put_refused(0o700, Some(NOBODY));
        }
        self.clear();
        self.linger_while_empty();
        self.linger();
    }

    fn swapped(&self) {
        self.shared.swaps.fetch_add(1, Ordering::Release);
    }

    /// Leaves nothing at the path.
    fn clear(&mut self) {
        let aside = self.prepared.with_file_name("aside");
        match rename(&self.path, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => self.put_away(&aside),
            Err(Errno::NOENT) => {}
            Err(errno) => panic!("cannot clear the path: {errno}"),
        }
        self.swapped();
    }

    /// Gives a recorder the time to make a directory, and not much more.
    fn linger_while_empty(&self) {
        for _ in 0..200 {
            if fs::symlink_metadata(&self.path).is_ok() {
                return;
            }
        }
    }

    /// Gives a recorder the time to open what stands there.
    fn linger(&self) {
        for _ in 0..50 {
            let _ = fs::symlink_metadata(&self.path);
        }
    }

    fn put_symlink(&mut self, target: &Path) {
        symlink(target, &self.prepared).expect("symlink");
        self.put_prepared();
    }

    fn put_private(&mut self) {
        match self.resting.pop_front() {
            Some(resting) if self.resting.len() >= RESTING_MAX => {
                fs::rename(resting, &self.prepared).expect("rename");
            }
            resting => {
                self.resting.extend(resting);
                fs::create_dir(&self.prepared).expect("create");
                set_mode(&self.prepared, 0o700);
            }
        }
        self.put_prepared();
    }

    fn put_refused(&mut self, mode: u32, owner: Option<u32>) {
        fs::create_dir(&self.prepared).expect("create");
        set_mode(&self.prepared, mode);
        chown(&self.prepared, owner, None).expect("give away");
        self.put_prepared();
    }

    /// Puts what was prepared at the path, in one step, whatever stands there.
    fn put_prepared(&mut self) {
        match rename(&self.prepared, &self.path, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                // Nobody else takes away what stands there.
                rename(&self.prepared, &self.path, RenameFlags::EXCHANGE).expect("exchange");
                self.put_away(&self.prepared.clone());
            }
            Err(errno) => panic!("cannot put it at the path: {errno}"),
        }
        self.swapped();
    }

    /// Puts away what stood at the path. A private directory rests: somebody
    /// may record in it.
    fn put_away(&mut self, old: &Path) {
        let stat = fs::symlink_metadata(old).expect("it exists");
        if !stat.is_dir() {
            return fs::remove_file(old).expect("remove");
        }
        let is_private = stat.mode() & 0o077 == 0 && stat.uid() == geteuid().as_raw();
        // What was refused is empty, or the judgement will find it.
        if is_private || fs::remove_dir(old).is_err() {
            let resting = self.path.with_file_name(format!("{WING}{}", self.number));
            self.number += 1;
            fs::rename(old, &resting).expect("rename");
            self.resting.push_back(resting);
        }
    }
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(CWD, from, CWD, to, flags)
}
