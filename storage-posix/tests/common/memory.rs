//! Directories without a disk behind them: tests by the thousand are about the
//! calls that are made, and need not wait for a disk at every sync.

use std::path::Path;

use tempfile::TempDir;

/// A directory for one test, in memory where the system has a place for that.
pub(crate) fn temporary() -> TempDir {
    let shared_memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("tachograph-");
    if shared_memory.is_dir() {
        builder.tempdir_in(shared_memory)
    } else {
        builder.tempdir()
    }
    .expect("a temporary directory")
}
