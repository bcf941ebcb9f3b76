//! What `/proc` tells of the threads of this process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

const TASKS: &str = "/proc/self/task";

/// The ids of all threads, or of fewer: the kernel stops listing when the
/// thread that it has come to ends just then.
pub(crate) fn list() -> io::Result<Vec<i32>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(TASKS)? {
        if let Some(thread) = entry?.file_name().to_str().and_then(|it| it.parse().ok()) {
            threads.push(thread);
        }
    }
    Ok(threads)
}

/// The name of `thread`, as in a sample; empty if it has ended.
pub(crate) fn name(thread: i32) -> [u8; 16] {
    let mut name = [0; 16];
    let comm = fs::read(format!("{TASKS}/{thread}/comm")).unwrap_or_default();
    for (to, from) in name.iter_mut().zip(comm.trim_ascii_end()) {
        *to = *from;
    }
    name
}

/// The directory of the threads. Kept open, since to ask it costs a tenth of
/// what finding it costs.
#[derive(Debug)]
pub(crate) struct Tasks(Option<File>);

impl Tasks {
    pub(crate) fn open() -> Self {
        Self(File::open(TASKS).ok())
    }

    /// A number that changes with that of the threads, or 0 if that is not
    /// known. Lists nothing.
    pub(crate) fn count(&self) -> u64 {
        let metadata = self.0.as_ref().and_then(|tasks| tasks.metadata().ok());
        metadata.map_or(0, |tasks| tasks.nlink())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::*;

    #[test]
    fn a_name_reads_as_the_handler_reads_it() {
        assert_eq!(name(kernel::thread_id()), kernel::thread_name());
        assert_eq!(name(i32::MAX), [0; 16]);
    }

    #[test]
    fn this_thread_is_listed_and_counted() {
        // Other tests' threads end at any moment, which cuts a list short.
        let is_listed = |_| list().expect("a list").contains(&kernel::thread_id());
        assert!((0..1000).any(is_listed));
        assert!(Tasks::open().count() >= 3, "`.`, `..` and a thread");
    }
}
