//! The contract of every store, on this one.

#![cfg(unix)]

mod common;

use std::fs;
use std::path::PathBuf;

use tachograph_core::testing::conformance::{self, StoreFixture};
use tachograph_core::{Error, Store};
use tachograph_storage_posix::PosixStore;
use tempfile::TempDir;

struct Place {
    _temporary: TempDir,
    path: PathBuf,
}

impl StoreFixture for Place {
    fn open(&self) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(PosixStore::open(&self.path)?))
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path.join(name), bytes).expect("write");
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path.join(name)).ok()
    }

    fn names(&self) -> Vec<String> {
        common::names(&self.path)
    }
}

#[test]
fn the_private_directory_is_a_store() {
    conformance::store(&|| {
        let temporary = common::temporary();
        let path = temporary.path().join("profiles");
        fs::create_dir(&path).expect("create");
        common::set_mode(&path, 0o700);
        Place {
            _temporary: temporary,
            path,
        }
    });
}
