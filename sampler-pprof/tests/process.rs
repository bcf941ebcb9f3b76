//! What a capture does to the process around it. Each case runs in a process
//! of its own: this program, started again with the name of the case.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::mem::MaybeUninit;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{env, fs, ptr};

use tachograph_core::{ErrorKind, Sampler};
use tachograph_sampler_pprof::PprofSampler;
use tachograph_test_support::own_process;
use tempfile::TempDir;

/// Runs `case` in a process of its own, whose temporary directory is the
/// subdirectory `temporary` (itself, if that is empty) of a new directory, and
/// returns that directory; in the process itself, nothing.
fn in_own_process(name: &str, temporary: &str, case: impl FnOnce()) -> Option<TempDir> {
    let mut directory = None;
    let prepare = |command: &mut Command| {
        let made = tempfile::tempdir().expect("a directory");
        command.env("TMPDIR", made.path().join(temporary));
        directory = Some(made);
    };
    let output = own_process(name, prepare, case)?;
    assert!(
        output.status.success(),
        "{name}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    directory
}

fn capture() {
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    drop(session.stop().expect("it stops"));
}

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn nothing_stays_in_the_temporary_directory() {
    let left = in_own_process("nothing_stays_in_the_temporary_directory", "", || {
        let temporary = env::temp_dir();
        // Somebody else's file, of the very same form, is not touched.
        let foreign = tempfile::NamedTempFile::new().expect("a file");
        let session = PprofSampler::new().start(100).expect("nobody else samples");
        assert_eq!(names(&temporary).len(), 2);
        drop(session);
        for _ in 0..3 {
            capture();
            assert_eq!(names(&temporary).len(), 1);
            assert!(foreign.path().exists());
        }
    });
    if let Some(left) = left {
        assert_eq!(names(left.path()), Vec::<String>::new());
    }
}

#[test]
fn its_file_is_told_from_those_of_others() {
    let name = "its_file_is_told_from_those_of_others";
    let left = in_own_process(name, "", || {
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        let file = tempfile::NamedTempFile::new().expect("a file");
                        std::thread::sleep(std::time::Duration::from_millis(3));
                        assert!(file.path().exists(), "somebody else removed it");
                    }
                });
            }
            for _ in 0..10 {
                capture();
            }
            ended.store(true, Ordering::Relaxed);
        });
    });
    if let Some(left) = left {
        assert_eq!(names(left.path()), Vec::<String>::new());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_on_the_size_of_files_is_an_error_before_it_ends_the_process() {
    let name = "a_limit_on_the_size_of_files_is_an_error_before_it_ends_the_process";
    in_own_process(name, "", || {
        let limit = |bytes| {
            let limit = libc::rlimit {
                rlim_cur: bytes,
                rlim_max: libc::RLIM_INFINITY,
            };
            // SAFETY: the call reads a place that is ours.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        };
        limit((16 << 20) - 1);
        let error = PprofSampler::new().start(100).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Sampling);
        let text = error.to_string();
        assert!(text.contains("RLIMIT_FSIZE of 16777215 bytes"), "{text}");
        assert!(text.contains("raise it to 16777216 or more"), "{text}");
        limit(16 << 20);
        capture();
    });
}

#[test]
fn an_unwritable_temporary_directory_is_an_error_and_no_more() {
    let name = "an_unwritable_temporary_directory_is_an_error_and_no_more";
    in_own_process(name, "missing", || {
        let missing = env::temp_dir();
        let error = PprofSampler::new().start(100).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Sampling);
        let text = error.to_string();
        assert!(text.contains(&*missing.to_string_lossy()), "{text}");
        assert!(text.contains("TMPDIR"), "{text}");

        // The crate was not asked, so it is not broken.
        fs::create_dir(&missing).expect("created");
        capture();

        // Gone before a stop: the samples are lost to an error, sampling ends
        // all the same, and the next start says why it cannot.
        let session = PprofSampler::new().start(100).expect("it works");
        fs::remove_dir_all(&missing).expect("removed");
        let error = session.stop().err().expect("the samples are gone");
        assert_eq!(error.kind(), ErrorKind::Sampling);
        assert_eq!(action(None), libc::SIG_IGN);
        fs::create_dir(&missing).expect("created");
        let error = PprofSampler::new().start(100).err().expect("broken");
        assert_eq!(error.kind(), ErrorKind::Sampling);
        assert!(error.to_string().contains("restart"), "{error}");
    });
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// The present action of `SIGPROF`, after `new` if that is given.
fn action(new: Option<libc::sighandler_t>) -> libc::sighandler_t {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeroes is a valid action (default, no flags, empty mask).
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    if let Some(handler) = new {
        action.sa_sigaction = handler;
        // SAFETY: the handler only adds to an atomic, which a signal may do.
        let result = unsafe { libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()) };
        assert_eq!(result, 0);
    }
    // SAFETY: it only writes the present action to a place that is ours.
    let result = unsafe { libc::sigaction(libc::SIGPROF, ptr::null(), old.as_mut_ptr()) };
    assert_eq!(result, 0);
    // SAFETY: it was zeroed, and then written.
    unsafe { old.assume_init() }.sa_sigaction
}

#[test]
fn a_foreign_handler_means_busy_and_stays() {
    in_own_process("a_foreign_handler_means_busy_and_stays", "", || {
        let ours = count_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action(Some(ours));
        let error = PprofSampler::new().start(100).err().expect("busy");
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert_eq!(action(None), ours);
        // SAFETY: the signal's handler only adds to an atomic.
        unsafe { libc::raise(libc::SIGPROF) };
        assert_eq!(SIGNALS.load(Ordering::Relaxed), 1);

        action(Some(libc::SIG_DFL));
        capture();
        assert_eq!(action(None), libc::SIG_IGN);

        // One that comes during a capture is left in force after it.
        let session = PprofSampler::new().start(100).expect("nobody else samples");
        action(Some(ours));
        drop(session);
        assert_eq!(action(None), ours);
        action(Some(libc::SIG_IGN));

        // A stray signal after a capture kills nobody.
        // SAFETY: the signal is ignored.
        unsafe { libc::raise(libc::SIGPROF) };
    });
}

#[test]
fn a_blocked_signal_does_not_keep_the_unwinder_cold() {
    let name = "a_blocked_signal_does_not_keep_the_unwinder_cold";
    in_own_process(name, "", || {
        let mut only_prof = MaybeUninit::<libc::sigset_t>::uninit();
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is initialised before it is changed and read, and all
        // places are ours.
        let still_blocked = unsafe {
            libc::sigemptyset(only_prof.as_mut_ptr());
            libc::sigaddset(only_prof.as_mut_ptr(), libc::SIGPROF);
            libc::pthread_sigmask(libc::SIG_BLOCK, only_prof.as_ptr(), ptr::null_mut());
            capture();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), libc::SIGPROF)
        };
        assert_eq!(still_blocked, 1, "the thread's own mask was changed");
    });
}
