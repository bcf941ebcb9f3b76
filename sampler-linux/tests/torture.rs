//! Captures at the highest frequency while the process does what is hard on a
//! sampler. Each case runs in a process of its own.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::print_stdout,
    reason = "what was measured, and what was skipped"
)]

mod common;

use std::collections::HashMap;
use std::ffi::CStr;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, mem, ptr, thread};

use common::{
    burn_as_leaf, finish, in_own_process, own_process, process_cpu, start, told, work_on_threads,
};
use tachograph_profile::Profile;

/// How much CPU time each case uses.
const CPU: Duration = Duration::from_secs(4);

/// Samples `case`, which uses [`CPU`], and checks what holds for every case.
fn sample(case: impl FnOnce()) -> Profile {
    let session = start(1000);
    let before = process_cpu();
    case();
    let used = process_cpu() - before;
    session.check().expect("it runs");
    let (profile, truth) = finish(session);
    for line in profile.comments() {
        println!("{line}");
    }
    let share = truth.samples as f64 / (used.as_secs_f64() * 1000.0);
    println!("covered {share:.3}");
    assert!((0.8..=1.2).contains(&share), "{share}");
    profile
}

#[test]
fn panics() {
    in_own_process("panics", || {
        std::panic::set_hook(Box::new(|_| {}));
        let profile = sample(|| {
            work_on_threads(2, CPU, || {
                assert!(catch_unwind(|| panic!("expected")).is_err());
            });
        });
        assert!(told(&profile, "broken") <= told(&profile, "kept") * 0.02);
    });
}

#[test]
fn allocations() {
    in_own_process("allocations", || {
        let profile = sample(|| {
            work_on_threads(3, CPU, || {
                let mut all = Vec::new();
                for size in 0..400 {
                    all.push(vec![0_u8; size * size]);
                }
                black_box(all);
            });
        });
        assert!(told(&profile, "broken") <= told(&profile, "kept") * 0.02);
    });
}

#[test]
fn threads_come_and_go() {
    in_own_process("threads_come_and_go", || {
        sample(|| {
            work_on_threads(4, CPU, || {
                let short = thread::spawn(|| burn_as_leaf(Duration::from_micros(200)));
                short.join().expect("it burns");
            });
        });
    });
}

#[test]
fn libraries_come_and_go() {
    fn work_in(library: &CStr, function: &CStr) {
        // SAFETY: the library is the C library's own; the function takes and
        // returns a double, and is called while it is loaded.
        unsafe {
            let library = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
            assert!(!library.is_null());
            let function = libc::dlsym(library, function.as_ptr());
            assert!(!function.is_null());
            let function: extern "C" fn(f64) -> f64 = mem::transmute(function);
            let until = common::thread_cpu() + Duration::from_millis(5);
            let mut sum = 0.0;
            while common::thread_cpu() < until {
                for number in 0..2_000 {
                    sum += function(f64::from(number) * 0.37);
                }
            }
            black_box(sum);
            libc::dlclose(library);
        }
    }
    in_own_process("libraries_come_and_go", || {
        let profile = sample(|| {
            work_on_threads(1, CPU, || {
                work_in(c"libm.so.6", c"tgamma");
                work_in(c"libm.so.6", c"lgamma");
            });
        });
        let mut by_leaf: HashMap<&str, i64> = HashMap::new();
        for sample in profile.samples() {
            let leaf = sample.frames().next().expect("a leaf");
            let module = leaf.mapping().map_or("[unknown]", |it| it.path());
            let module = module.rsplit('/').next().expect("a name");
            *by_leaf.entry(module).or_default() += sample.value("samples").expect("a count");
        }
        println!("{by_leaf:?}");
        let all: i64 = by_leaf.values().sum();
        assert!(by_leaf.get("libm.so.6").copied().unwrap_or(0) > all / 2);
        assert!(by_leaf.get("[unknown]").copied().unwrap_or(0) <= all / 50);
        assert!(told(&profile, "broken") <= told(&profile, "kept") * 0.02);
    });
}

#[test]
fn mappings_come_and_go() {
    in_own_process("mappings_come_and_go", || {
        sample(|| {
            work_on_threads(3, CPU, || {
                // SAFETY: only new mappings are touched, and given back.
                unsafe {
                    let bytes = 64 << 10;
                    let start = libc::mmap(
                        ptr::null_mut(),
                        bytes,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                        -1,
                        0,
                    );
                    assert_ne!(start, libc::MAP_FAILED);
                    start.cast::<u8>().write_bytes(1, bytes);
                    libc::mprotect(start, bytes / 2, libc::PROT_NONE);
                    libc::munmap(start, bytes);
                }
            });
        });
    });
}

#[test]
fn children_are_forked_and_executed() {
    in_own_process("children_are_forked_and_executed", || {
        sample(|| {
            work_on_threads(3, CPU, || {
                burn_as_leaf(Duration::from_millis(1));
                let status = Command::new("true").status().expect("it runs");
                assert!(status.success(), "{status}");
                let mut forked = Command::new("true");
                // SAFETY: the closure calls nothing but a system call.
                unsafe { forked.pre_exec(raise_in_child) };
                let status = forked.status().expect("it runs");
                assert!(status.success(), "{status}");
            });
        });
    });
}

/// Between a fork and an exec; with this, there is a real fork.
fn raise_in_child() -> io::Result<()> {
    // SAFETY: a stray signal has no effect.
    unsafe { libc::raise(libc::SIGPROF) };
    Ok(())
}

#[test]
fn recursion_to_the_end_of_the_stack() {
    /// Where this thread's stack may not go.
    fn stack_end() -> usize {
        // SAFETY: the attributes are initialised by the first call, read by the
        // others, and destroyed.
        unsafe {
            let mut attributes: libc::pthread_attr_t = mem::zeroed();
            assert_eq!(
                libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes),
                0
            );
            let (mut start, mut bytes) = (ptr::null_mut(), 0);
            libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes);
            libc::pthread_attr_destroy(&raw mut attributes);
            start as usize
        }
    }

    #[inline(never)]
    fn descend(end: usize, deepest: &mut usize) -> u64 {
        let here = 0_u64;
        let left = (&raw const here as usize).saturating_sub(end);
        *deepest = left;
        // Less than a handler's own frame would need.
        if left < 2_500 {
            let mut state = black_box(1_u64);
            for _ in 0..black_box(100_000) {
                state ^= state << 13;
                state ^= state >> 7;
            }
            return state;
        }
        black_box(descend(end, deepest)) ^ black_box(here)
    }

    in_own_process("recursion_to_the_end_of_the_stack", || {
        let profile = sample(|| {
            work_on_threads(2, CPU, || {
                let mut deepest = usize::MAX;
                black_box(descend(stack_end(), &mut deepest));
                assert!(deepest < 2_500);
            });
        });
        let deepest = profile.samples().map(|it| it.stack().count()).max();
        assert!(deepest > Some(200), "{deepest:?}");
        assert!(told(&profile, "cut") > 0.0);
    });
}

#[test]
fn an_overflow_still_says_so() {
    #[inline(never)]
    fn descend(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        if depth == u64::MAX {
            return 0;
        }
        descend(depth + 1) ^ frame[7]
    }

    for attempt in 0..5 {
        let output = own_process("an_overflow_still_says_so", || {
            let session = start(1000);
            let burner = thread::spawn(|| burn_as_leaf(Duration::from_secs(60)));
            burn_as_leaf(Duration::from_millis(20));
            let overflowing = thread::Builder::new().stack_size(64 << 20);
            let overflowing = overflowing.spawn(|| descend(black_box(0)));
            let _ = overflowing.expect("a thread").join();
            drop((session, burner));
        });
        let Some(output) = output else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            errors.contains("has overflowed its stack"),
            "{attempt}: {}\n{errors}",
            output.status
        );
    }
}

#[test]
fn three_hundred_starts_and_stops() {
    in_own_process("three_hundred_starts_and_stops", || {
        let stop = AtomicBool::new(false);
        let sampled = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        burn_as_leaf(Duration::from_millis(1));
                    }
                });
            }
            for round in 0..300 {
                let session = start(1000);
                if round % 3 == 0 {
                    drop(session);
                    continue;
                }
                let until = process_cpu() + Duration::from_millis(10);
                while process_cpu() < until {
                    thread::yield_now();
                }
                if round % 3 == 1 {
                    drop(session.stop().expect("it stops"));
                } else {
                    let (_, truth) = finish(session);
                    sampled.fetch_add(truth.samples as usize, Ordering::Relaxed);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let sampled = sampled.into_inner();
        println!("{sampled} samples");
        // Captures this short miss what the kernel has not looked at yet.
        assert!(sampled > 100, "{sampled}");
    });
}
