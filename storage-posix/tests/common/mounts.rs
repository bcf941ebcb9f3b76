//! Mounts that nobody else sees.

use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::thread;

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Runs `work` on a thread with mounts of its own, which end with it. False if
/// this process may not have any; that is said aloud.
pub(crate) fn in_private_mounts(work: impl FnOnce() + Send) -> bool {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // SAFETY: the flag concerns mounts and the working directory only,
            // and nothing in this process goes by a path that it changes.
            if let Err(errno) = unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
                crate::common::skipped(&format!("needs root, to mount something: {errno}"));
                return false;
            }
            let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            mount_change("/", flags).expect("what is mounted here stays here");
            work();
            true
        });
        match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Mounts a file system in memory at `at`, which is made.
pub(crate) fn mount_tmpfs(at: &Path, options: &str) {
    fs::create_dir_all(at).expect("create");
    let options = CString::new(options).expect("no NUL byte");
    let flags = MountFlags::empty();
    mount("tmpfs", at, "tmpfs", flags, options.as_c_str()).expect("mounted");
}

/// Shows `real` at `at`, which is made.
pub(crate) fn bind(real: &Path, at: &Path) {
    fs::create_dir_all(at).expect("create");
    mount_bind(real, at).expect("mounted");
}

/// Lets nobody write by way of `at`.
pub(crate) fn make_read_only(at: &Path) {
    mount_remount(at, MountFlags::BIND | MountFlags::RDONLY, "").expect("mounted read-only");
}

/// Takes away what is mounted at `at`, even if it is in use.
pub(crate) fn detach(at: &Path) {
    unmount(at, UnmountFlags::DETACH).expect("unmounted");
}
