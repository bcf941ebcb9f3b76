//! What a capture does to the process around it, and that to the capture. Each
//! case runs in a process of its own.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::print_stdout,
    reason = "what was measured, and what was skipped"
)]

mod common;

use std::mem::{self, MaybeUninit};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, ptr, thread};

use common::{burn, capture, finish, in_own_process, own_process, process_cpu, start};
use tachograph_core::{ErrorKind, Sampler};
use tachograph_sampler_linux::LinuxSampler;

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn count_signal_with_info(
    _: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    assert!(!info.is_null() && !context.is_null());
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// The present action of `SIGPROF`, after `new` with `flags` if that is given.
fn action(new: Option<(usize, libc::c_int)>) -> libc::sigaction {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeroes is a valid action. The handlers given only add to an
    // atomic, or pass signals on. The present action goes to a place of ours.
    unsafe {
        if let Some((handler, flags)) = new {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            let result = libc::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut());
            assert_eq!(result, 0);
        }
        let result = libc::sigaction(libc::SIGPROF, ptr::null(), old.as_mut_ptr());
        assert_eq!(result, 0);
        old.assume_init()
    }
}

fn raise() {
    // SAFETY: the signal is handled.
    unsafe { libc::raise(libc::SIGPROF) };
}

fn threads() -> Vec<String> {
    fs::read_dir("/proc/self/task")
        .expect("a list")
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("comm")).ok())
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn after_a_capture_nothing_is_left_but_an_inert_handler() {
    in_own_process(
        "after_a_capture_nothing_is_left_but_an_inert_handler",
        || {
            assert!(capture() > 200);
            assert!(!threads().contains(&"tachograph".to_owned()));
            if let Ok(timers) = fs::read_to_string("/proc/self/timers") {
                assert_eq!(timers, "");
            }
            let handler = action(None).sa_sigaction;
            assert_ne!(handler, libc::SIG_DFL);
            raise();
            assert!(capture() > 200);
            assert_eq!(action(None).sa_sigaction, handler);
        },
    );
}

#[test]
fn foreign_signals_reach_the_handler_that_was_there() {
    in_own_process("foreign_signals_reach_the_handler_that_was_there", || {
        let counter = count_signal as *const () as usize;
        action(Some((counter, libc::SA_RESTART)));
        let session = start(1000);
        // Somebody else's interval timer, on top of our own.
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: 10_000,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        let off = libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
        let off = libc::itimerval {
            it_interval: off,
            it_value: off,
        };
        // SAFETY: the timer's signal is handled.
        unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, ptr::null_mut()) };
        let before = process_cpu();
        burn(Duration::from_secs(2));
        // SAFETY: as above.
        unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const off, ptr::null_mut()) };
        let used = process_cpu() - before;
        let (_, truth) = finish(session);
        let theirs = SIGNALS.load(Ordering::Relaxed);
        println!("{theirs} signals, {} samples in {used:?}", truth.samples);
        assert!((80..=260).contains(&theirs), "{theirs}");
        let share = truth.samples as f64 / (used.as_secs_f64() * 1000.0);
        assert!((0.9..=1.1).contains(&share), "{share}");

        // After the capture, too.
        let before = SIGNALS.load(Ordering::Relaxed);
        raise();
        assert_eq!(SIGNALS.load(Ordering::Relaxed), before + 1);
    });
}

#[test]
fn a_foreign_handler_with_information_gets_it() {
    in_own_process("a_foreign_handler_with_information_gets_it", || {
        let counter = count_signal_with_info as *const () as usize;
        action(Some((counter, libc::SA_SIGINFO)));
        capture();
        assert_eq!(SIGNALS.load(Ordering::Relaxed), 0);
        raise();
        assert_eq!(SIGNALS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_handler_that_keeps_signals_to_itself_means_busy() {
    in_own_process("a_handler_that_keeps_signals_to_itself_means_busy", || {
        capture();
        let counter = count_signal as *const () as usize;
        let ours = action(None).sa_sigaction;
        action(Some((counter, 0)));
        let error = LinuxSampler::new().start(100).err().expect("busy");
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert_eq!(action(None).sa_sigaction, counter);

        // Ignored or reset, the signal is ours again.
        for free in [libc::SIG_IGN, libc::SIG_DFL] {
            action(Some((free, 0)));
            assert!(capture() > 200);
            assert_eq!(action(None).sa_sigaction, ours);
        }
    });
}

static OURS: AtomicBool = AtomicBool::new(false);
static mut PREVIOUS: MaybeUninit<libc::sigaction> = MaybeUninit::uninit();

extern "C" fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    OURS.store(true, Ordering::Relaxed);
    // SAFETY: it was written before this handler was installed, and is that of
    // the sampler, which takes information.
    unsafe {
        let previous = (&raw const PREVIOUS).cast::<libc::sigaction>();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            mem::transmute((*previous).sa_sigaction);
        handler(signal, info, context);
    }
}

#[test]
fn a_handler_that_passes_signals_on_is_no_obstacle() {
    in_own_process("a_handler_that_passes_signals_on_is_no_obstacle", || {
        capture();
        let previous = action(None);
        // SAFETY: nobody reads it yet.
        unsafe { (&raw mut PREVIOUS).write(MaybeUninit::new(previous)) };
        let flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        action(Some((pass_on as *const () as usize, flags)));
        assert!(capture() > 200);
        assert!(OURS.load(Ordering::Relaxed));
    });
}

#[test]
fn a_signal_taken_away_during_a_capture_is_told() {
    in_own_process("a_signal_taken_away_during_a_capture_is_told", || {
        let session = start(1000);
        burn(Duration::from_millis(200));
        let counter = count_signal as *const () as usize;
        action(Some((counter, libc::SA_RESTART)));
        burn(Duration::from_millis(500));
        let (profile, truth) = finish(session);
        let told = profile.comments().any(|it| it.contains("somebody else"));
        assert!(told);
        assert!(SIGNALS.load(Ordering::Relaxed) > 0);
        assert!(truth.lost > 300, "{truth:?}");
        assert!(truth.samples > 100, "{truth:?}");
    });
}

#[test]
fn a_process_that_executes_another_during_a_capture_lives() {
    let name = "a_process_that_executes_another_during_a_capture_lives";
    let output = own_process(name, || {
        let _session = start(1000);
        thread::spawn(|| burn(Duration::from_secs(60)));
        burn(Duration::from_millis(100));
        // It uses CPU time, so that a timer that is left would hit it.
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo lived";
        let error = Command::new("sh").args(["-c", script]).exec();
        panic!("{error}");
    });
    if let Some(output) = output {
        assert!(output.status.success(), "{}", output.status);
        assert!(String::from_utf8_lossy(&output.stdout).contains("lived"));
    }
}

#[test]
fn a_forked_child_has_no_part_in_the_capture() {
    in_own_process("a_forked_child_has_no_part_in_the_capture", || {
        let session = start(1000);
        burn(Duration::from_millis(200));
        // SAFETY: the child calls nothing that needs the parent's other
        // threads; what it allocates with is the C library, which keeps its
        // locks usable across a fork.
        let child = unsafe { libc::fork() };
        if child == 0 {
            raise();
            burn(Duration::from_millis(200));
            // Not to be waited for: its thread is not here.
            let error = session.stop().err().expect("it is the parent's");
            let fine = error.kind() == ErrorKind::Sampling && capture() > 150;
            // SAFETY: it ends this process at once.
            unsafe { libc::_exit(if fine { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, the place too.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status), "{status:#x}");
        assert_eq!(libc::WEXITSTATUS(status), 7);
        let (_, truth) = finish(session);
        assert!((150..=400).contains(&truth.samples), "{truth:?}");
    });
}

#[test]
fn idle_threads_are_not_woken() {
    in_own_process("idle_threads_are_not_woken", || {
        let stop = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            let idle = thread::Builder::new().name("idle".into());
            let idle = idle.spawn_scoped(scope, || {
                stop.wait();
                switches()
            });
            let session = start(1000);
            let burner = scope.spawn(|| burn(Duration::from_secs(2)));
            burner.join().expect("it burns");
            stop.wait();
            let switches = idle.expect("a thread").join().expect("it waits");
            let (_, truth) = finish(session);
            println!(
                "{switches} switches of an idle thread, {} samples",
                truth.samples
            );
            assert!(truth.samples > 1900);
            assert!(switches <= 10, "{switches}");
        });
    });
}

/// How often the calling thread gave up its CPU to wait.
fn switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").expect("a status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("a count").trim().parse().expect("a number")
}

#[test]
fn threads_that_block_the_signal_are_counted() {
    in_own_process("threads_that_block_the_signal_are_counted", || {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let blocking = thread::spawn(move || {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            // SAFETY: the set is filled before it is read, and only this
            // thread's mask changes.
            unsafe {
                libc::sigfillset(set.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            }
            ready.send(()).expect("it is awaited");
            let _ = receiver.recv();
            burn(Duration::from_millis(500));
        });
        is_ready.recv().expect("it blocks");
        let session = start(1000);
        drop(sender);
        blocking.join().expect("it burns");
        let (profile, truth) = finish(session);
        let line = profile.comments().find(|it| it.starts_with("threads:"));
        assert!(line.is_some_and(|it| it.contains(" 1 blocking SIGPROF")));
        assert!(truth.lost > 300, "{truth:?}");
    });
}

#[test]
fn a_handler_needs_less_than_four_kibibytes_of_stack() {
    in_own_process("a_handler_needs_less_than_four_kibibytes_of_stack", || {
        const BYTES: usize = 64 << 10;
        const PAINT: u8 = 0xa5;

        let session = start(1000);
        let worker = thread::spawn(|| {
            let mut stack = vec![PAINT; BYTES];
            let (mut mine, mut theirs) = (
                libc::stack_t {
                    ss_sp: stack.as_mut_ptr().cast(),
                    ss_flags: 0,
                    ss_size: BYTES,
                },
                MaybeUninit::<libc::stack_t>::zeroed(),
            );
            // SAFETY: the stack outlives its use, which ends with the second
            // call.
            unsafe {
                assert_eq!(libc::sigaltstack(&raw const mine, theirs.as_mut_ptr()), 0);
                burn(Duration::from_secs(1));
                mine = theirs.assume_init();
                assert_eq!(libc::sigaltstack(&raw const mine, ptr::null_mut()), 0);
            }
            let untouched = stack.iter().take_while(|byte| **byte == PAINT).count();
            BYTES - untouched
        });
        let used = worker.join().expect("it burns");
        let (_, truth) = finish(session);
        assert!(truth.samples > 900);
        // SAFETY: it only reads what the kernel passed to the process. This is
        // what the kernel itself puts on the stack, and it may do so twice.
        let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        println!("{used} bytes, at most {frame} of them the kernel's");
        assert!(used > 0);
        assert!(used < 2 * frame + 4096, "{used}");
    });
}

#[test]
fn a_loaded_library_samples_with_labels_and_stays() {
    in_own_process("a_loaded_library_samples_with_labels_and_stays", || {
        let program = std::env::current_exe().expect("this program");
        let library = program
            .parent()
            .and_then(|deps| deps.parent())
            .map(|profile| profile.join("examples/libsampling_library.so"));
        let Some(library) = library.filter(|it| it.exists()) else {
            println!("SKIPPED: build the examples first, as `cargo test` without `--test` does");
            return;
        };
        let library = std::ffi::CString::new(library.to_str().expect("UTF-8")).expect("no zero");
        let stop = AtomicBool::new(false);
        let labelled = thread::scope(|scope| {
            // Threads that know nothing of the library, and hold the
            // allocator's locks most of the time.
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::black_box(vec![1_u8; 100_000]);
                    }
                });
            }
            // SAFETY: the library is ours, and the function has that type.
            let labelled = unsafe {
                let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
                assert!(!handle.is_null());
                let function = libc::dlsym(handle, c"sample_with_labels".as_ptr());
                assert!(!function.is_null());
                let function: extern "C" fn() -> f64 = mem::transmute(function);
                let labelled = function();
                libc::dlclose(handle);
                labelled
            };
            stop.store(true, Ordering::Relaxed);
            labelled
        });
        println!("labelled {labelled:.3} of what should be");
        assert!((0.8..=1.2).contains(&labelled), "{labelled}");
        // The handler is in the library, so that must be there still.
        raise();
    });
}
