//! What a capture does where the system refuses something: by seccomp, or for want
//! of room. Each case runs in a process of its own.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::print_stdout,
    reason = "what was measured, and what was skipped"
)]

mod common;

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, mem, ptr, thread};

use common::{burn, capture, finish, in_own_process, process_cpu, start, told};
use tachograph_core::labels::{self, Label};
use tachograph_core::{ErrorKind, Name, Sampler, TimeSource};
use tachograph_sampler_linux::{LinuxSampler, register_thread};

/// Whether the sampler's thread runs.
fn has_sampler_thread() -> bool {
    fs::read_dir("/proc/self/task")
        .expect("a list")
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("comm")).ok())
        .any(|name| name.trim() == "tachograph")
}

#[test]
fn timers_refused_for_want_of_room_leave_the_process_timer() {
    let name = "timers_refused_for_want_of_room_leave_the_process_timer";
    in_own_process(name, || {
        // Each timer takes the place of a pending signal.
        let limit = libc::rlimit {
            rlim_cur: 3,
            rlim_max: 3,
        };
        let workers: Vec<_> = (0..4)
            .map(|_| {
                thread::spawn(|| {
                    thread::sleep(Duration::from_millis(200));
                    burn(Duration::from_millis(500));
                })
            })
            .collect();
        // SAFETY: the limit lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &raw const limit) };
        let session = match LinuxSampler::new().start(1000) {
            Ok(session) => session,
            Err(error) => {
                // Other processes of this user may have taken that much.
                assert_eq!(error.kind(), ErrorKind::Sampling);
                println!("SKIPPED: {error}");
                return;
            }
        };
        for worker in workers {
            worker.join().expect("it burns");
        }
        let (profile, truth) = finish(session);
        for line in profile.comments() {
            println!("{line}");
        }
        if truth.coverage.expect("it can tell").time_source == TimeSource::PerfEvents {
            println!("SKIPPED: other processes of this user left no room for any timer");
            return;
        }
        let line = profile.comments().find(|it| it.starts_with("threads:"));
        assert!(line.is_some_and(|it| !it.contains(" 0 refused a timer")));
        if told(&profile, "by the process timer") == 0.0 {
            println!("SKIPPED: no process timer, by this kernel or for want of room");
            return;
        }
        assert!((1700..=2300).contains(&truth.samples), "{truth:?}");
    });
}

/// Lets the kernel refuse `system_call` with `EPERM`, to this thread and all
/// that it starts.
fn refuse(system_call: libc::c_long) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let mut program = [
        // The number of the system call is the first word.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: system_call as u32,
        },
        statement(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program lives through the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
            0
        );
    }
}

#[test]
fn without_reading_through_the_kernel_first_stacks_are_missing() {
    let name = "without_reading_through_the_kernel_first_stacks_are_missing";
    in_own_process(name, || {
        refuse(libc::SYS_process_vm_readv);
        let session = start(1000);
        let worker = thread::spawn(|| burn(Duration::from_secs(1)));
        worker.join().expect("it burns");
        let (profile, truth) = finish(session);
        let without = told(&profile, "without a stack");
        println!("{without} of {} without a stack", truth.samples);
        assert!(without > 0.0);
        assert!(without < truth.samples as f64 / 2.0);
        assert!(truth.samples > 900, "{truth:?}");
    });
}

/// Whether this process may have perf events on CPU time in user space. Says so
/// aloud if not.
fn may_have_perf_events() -> bool {
    // SAFETY: the kernel gets no attributes, and complains of that before it
    // does anything, but not before a filter refuses the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::null::<u8>(),
            0,
            -1,
            -1,
            0_usize,
        )
    };
    assert_eq!(result, -1);
    let error = std::io::Error::last_os_error();
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid: i32 = paranoid.trim().parse().unwrap_or(i32::MAX);
    // SAFETY: it only asks.
    let is_root = unsafe { libc::geteuid() } == 0;
    let allowed = error.raw_os_error() == Some(libc::EFAULT) && (is_root || paranoid <= 2);
    if !allowed {
        println!("SKIPPED: no perf events here: {error}, perf_event_paranoid is {paranoid}");
    }
    allowed
}

/// How many perf events this process has open.
fn perf_events() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("a list")
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.as_os_str() == "anon_inode:[perf_event]")
        .count()
}

#[test]
fn without_timers_perf_events_sample() {
    in_own_process("without_timers_perf_events_sample", || {
        if !may_have_perf_events() {
            return;
        }
        refuse(libc::SYS_timer_create);
        for hz in [100, 1000] {
            let session = start(hz);
            let before = process_cpu();
            let names = ["first", "second"];
            let label = Label::intern(&Name::new("labelled").expect("valid"));
            // Both from before their work, so that they are armed for all of it.
            let workers = names.map(|name| {
                let worker = thread::Builder::new().name(name.into());
                let work = move || {
                    register_thread();
                    thread::sleep(Duration::from_millis(300));
                    labels::with(label, || burn(Duration::from_secs(1)));
                };
                worker.spawn(work).expect("a thread")
            });
            for worker in workers {
                worker.join().expect("it burns");
            }
            let used = process_cpu() - before;
            assert!(perf_events() > 0);
            let (profile, truth) = finish(session);
            let coverage = truth.coverage.expect("it can tell");
            assert_eq!(coverage.time_source, TimeSource::PerfEvents);
            assert!(!coverage.has_process_timer);
            assert_eq!(coverage.threads_refused, 0);
            let told = profile.comments().any(|it| it.contains("perf events"));
            assert!(told, "the profile says so");

            let mut shares = Vec::new();
            for name in names {
                let of_thread = profile
                    .samples()
                    .filter(|sample| sample.label("thread") == Some(name));
                let (mut all, mut right) = (0, 0);
                for sample in of_thread {
                    let count = sample.value("samples").expect("a count");
                    all += count;
                    let leaf = sample.stack().next().unwrap_or_default().to_owned();
                    if sample.label("task") == Some("labelled") && leaf.contains("spin_hot") {
                        right += count;
                    }
                }
                assert!(right * 10 > all * 9, "{right} of {all}");
                shares.push(all as f64 / f64::from(hz));
            }
            println!("{hz} Hz: CPU seconds of the two {shares:.3?}, of all {used:?}, {truth:?}");
            // Less what the kernel does in between.
            assert!(shares.iter().all(|it| (0.7..=1.1).contains(it)));
            let expected = coverage.cpu_used_seconds * f64::from(hz);
            assert!((truth.samples + truth.lost) as f64 >= expected - 1.0);
        }
        assert_eq!(perf_events(), 0);
        assert!(!has_sampler_thread());
    });
}

#[test]
fn a_forked_child_keeps_no_perf_event() {
    in_own_process("a_forked_child_keeps_no_perf_event", || {
        if !may_have_perf_events() {
            return;
        }
        refuse(libc::SYS_timer_create);
        let session = start(1000);
        burn(Duration::from_millis(200));
        assert!(perf_events() > 0);
        // SAFETY: the child calls nothing that needs the parent's other
        // threads; what it allocates with is the C library, which keeps its
        // locks usable across a fork.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let kept = perf_events();
            let fine = kept == 0 && session.stop().is_err() && capture() > 100;
            // SAFETY: it ends this process at once.
            unsafe { libc::_exit(if fine { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, the place too.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status), "{status:#x}");
        assert_eq!(libc::WEXITSTATUS(status), 7);
        burn(Duration::from_millis(200));
        let (_, truth) = finish(session);
        assert!((200..=600).contains(&truth.samples), "{truth:?}");
    });
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    assert!(!info.is_null() && !context.is_null());
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn the_signal_of_a_foreign_descriptor_is_passed_on() {
    in_own_process("the_signal_of_a_foreign_descriptor_is_passed_on", || {
        if !may_have_perf_events() {
            return;
        }
        const F_SETSIG: libc::c_int = 10;

        // SAFETY: all zeroes is a valid action; the handler only adds to an
        // atomic.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = count_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let result = libc::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut());
            assert_eq!(result, 0);
        }
        refuse(libc::SYS_timer_create);
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let descriptor = reader.as_raw_fd();
        // SAFETY: the descriptor is open, and its signal is handled.
        unsafe {
            assert_eq!(libc::fcntl(descriptor, F_SETSIG, libc::SIGPROF), 0);
            assert_eq!(libc::fcntl(descriptor, libc::F_SETOWN, libc::getpid()), 0);
            assert_eq!(libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC), 0);
        }
        let session = start(1000);
        for sent in 1..=10 {
            burn(Duration::from_millis(20));
            writer.write_all(b"x").expect("room");
            while SIGNALS.load(Ordering::Relaxed) < sent {
                thread::yield_now();
            }
        }
        let (_, truth) = finish(session);
        assert_eq!(SIGNALS.load(Ordering::Relaxed), 10, "none of the sampler's");
        assert!(truth.samples > 100, "{truth:?}");
    });
}

#[test]
fn without_perf_events_timers_sample_as_ever() {
    in_own_process("without_perf_events_timers_sample_as_ever", || {
        refuse(libc::SYS_perf_event_open);
        let session = start(1000);
        burn(Duration::from_millis(300));
        let (_, truth) = finish(session);
        let coverage = truth.coverage.expect("it can tell");
        assert_eq!(coverage.time_source, TimeSource::ThreadTimers);
        assert!(truth.samples > 200, "{truth:?}");
    });
}

#[test]
fn without_timers_and_perf_events_there_is_an_error_and_nothing_is_left() {
    let name = "without_timers_and_perf_events_there_is_an_error_and_nothing_is_left";
    in_own_process(name, || {
        refuse(libc::SYS_timer_create);
        refuse(libc::SYS_perf_event_open);
        for _ in 0..2 {
            let error = LinuxSampler::new().start(100).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Sampling);
            let text = format!("{error:#}");
            for part in [
                "timer_create: Operation not permitted",
                "perf_event_open: Operation not permitted",
                "perf_event_paranoid",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
        assert!(!has_sampler_thread());
        assert_eq!(perf_events(), 0);
    });
}

#[test]
fn events_leave_descriptors_to_the_application() {
    in_own_process("events_leave_descriptors_to_the_application", || {
        if !may_have_perf_events() {
            return;
        }
        refuse(libc::SYS_timer_create);
        let limit = libc::rlimit {
            rlim_cur: 40,
            rlim_max: 40,
        };
        // SAFETY: the limit lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = std::sync::Mutex::new(ended);
        thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    let _ = ended.lock().map(|ended| ended.recv());
                });
            }
            let session = start(1000);
            burn(Duration::from_millis(200));
            let files: Vec<_> = (0..5).map(|_| fs::File::open("/dev/null")).collect();
            assert!(files.iter().all(Result::is_ok), "{files:?}");
            drop(end);
            let (_, truth) = finish(session);
            let coverage = truth.coverage.expect("it can tell");
            assert!(coverage.threads_refused >= 20, "{coverage:?}");
            assert!(truth.samples > 100, "{truth:?}");
        });
    });
}
