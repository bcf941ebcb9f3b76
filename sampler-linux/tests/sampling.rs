//! Real samples of real work.
//!
//! What these tests assert must hold on a loaded machine: names, labels, sums,
//! and shares within bounds that come from the number of samples. All amounts
//! of work are CPU time. How near to the truth the samples really come is measured
//! by `benches`.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::print_stdout,
    reason = "what was measured, and what was skipped"
)]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, SystemTime};

use common::{burn_as_leaf, finish, process_cpu, start, thread_cpu, told, turn};
use tachograph_core::testing::{
    InlineOffload, ManualClock, MemoryDirectory, MemoryStore, conformance,
};
use tachograph_core::{ErrorKind, Parts, Recorder, Sampler, SamplingGuard, Window};
use tachograph_profile::Profile;
use tachograph_sampler_linux::{LinuxSampler, Names, register_thread};

/// A recorder that labels tasks for this sampler and never captures: its
/// driver is not polled.
fn labelling_recorder() -> (Recorder, impl Sized) {
    let wall = SystemTime::UNIX_EPOCH;
    let window = Window::until(wall + Duration::from_secs(60), wall)
        .expect("within 72 h")
        .expect("ahead");
    Recorder::new(Parts::new(
        window,
        Arc::new(ManualClock::new(wall)),
        Arc::new(InlineOffload),
        Arc::new(LinuxSampler::new()),
        Box::new(MemoryStore::open(&MemoryDirectory::new()).expect("free")),
    ))
    .expect("the parts fit")
}

fn samples(profile: &Profile, choose: impl Fn(&str) -> bool) -> i64 {
    profile
        .samples()
        .filter(|sample| sample.label("thread").is_some_and(&choose))
        .filter_map(|sample| sample.value("samples"))
        .sum()
}

#[test]
fn keeps_the_contract() {
    let _turn = turn();
    let count = |profile: &[u8]| {
        let profile = Profile::decode(profile, 64 << 20).expect("a profile");
        u64::try_from(profile.total("samples").expect("a sum")).expect("not negative")
    };
    conformance::sampler(&LinuxSampler::new(), &count, &|| {
        burn_as_leaf(Duration::from_millis(100));
    });
}

#[test]
fn the_hot_function_is_the_leaf_of_whole_stacks() {
    let _turn = turn();
    let session = start(100);
    thread::Builder::new()
        .name("burner".into())
        .spawn(|| burn_as_leaf(Duration::from_secs(2)))
        .expect("a thread")
        .join()
        .expect("it burns");
    let (profile, truth) = finish(session);

    let mut hot = 0;
    let mut elsewhere = 0;
    for sample in profile.samples() {
        if sample.label("thread") != Some("burner") {
            continue;
        }
        let count = sample.value("samples").expect("it has a count");
        let stack: Vec<&str> = sample.stack().collect();
        // The clock is asked once every 200,000 rounds, and a thread begins and
        // ends.
        if stack[0].contains("burn_as_leaf") {
            hot += count;
            let root = stack.iter().any(|it| it.contains("thread_start"));
            assert!(root, "{stack:?}");
        } else {
            elsewhere += count;
        }
    }
    assert!((170..=230).contains(&hot), "{hot}");
    assert!(elsewhere <= 20, "{elsewhere}");
    let all = profile.total("samples").expect("a sum");
    assert_eq!(u64::try_from(all), Ok(truth.samples));
    assert_eq!(profile.total("cpu"), Some(all * 10_000_000));
    assert!(truth.executable_build_id.is_some());
    // The burner's all reach their root; a stray one of another thread may not.
    for what in ["cut", "broken"] {
        let share = told(&profile, what) / all as f64;
        assert!(share <= 0.05, "{what}: {share}");
    }
}

/// Samples over CPU time times frequency, and the samples of each thread. The
/// threads are there before, as those of a service are.
fn ratio(frequency_hz: u32, threads: usize, cpu: Duration) -> (f64, Vec<i64>) {
    let gate = Arc::new(Barrier::new(threads + 1));
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            let gate = Arc::clone(&gate);
            let work = move || {
                gate.wait();
                burn_as_leaf(cpu);
                gate.wait();
            };
            thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(work)
                .expect("a thread")
        })
        .collect();
    let session = start(frequency_hz);
    // While a timer runs on the process's clock, that clock learns of a thread's
    // time when the thread is switched or the kernel's tick comes.
    thread::sleep(Duration::from_millis(20));
    let before = process_cpu();
    gate.wait();
    gate.wait();
    let used = process_cpu() - before;
    let (profile, truth) = finish(session);
    for worker in workers {
        worker.join().expect("it burns");
    }
    let of_each = (0..threads)
        .map(|number| samples(&profile, |name| name == format!("worker-{number}")))
        .collect();
    let ratio = truth.samples as f64 / (used.as_secs_f64() * f64::from(frequency_hz));
    println!("{frequency_hz} Hz, {threads} threads: {ratio:.4} {of_each:?}");
    (ratio, of_each)
}

#[test]
fn samples_are_cpu_time_times_frequency() {
    let _turn = turn();
    for threads in [1, 2, 4] {
        let (ratio, of_each) = ratio(1000, threads, Duration::from_secs(2));
        assert!((0.95..=1.05).contains(&ratio), "{threads}: {ratio}");
        for samples in of_each {
            // Each used the same CPU time.
            assert!((1800..=2200).contains(&samples), "{threads}: {samples}");
        }
    }
    for threads in [1, 2, 4] {
        let cpu = Duration::from_secs(if threads == 4 { 2 } else { 4 });
        let (ratio, _) = ratio(100, threads, cpu);
        assert!((0.93..=1.07).contains(&ratio), "{threads}: {ratio}");
    }
}

#[test]
fn threads_that_do_not_live_long_are_found() {
    let _turn = turn();
    for (life, at_least) in [(3, 0.75), (25, 0.8), (300, 0.85)] {
        let session = start(1000);
        let mut used = Duration::ZERO;
        while used < Duration::from_secs(2) {
            let work = move || {
                burn_as_leaf(Duration::from_millis(life));
                thread_cpu()
            };
            used += thread::Builder::new()
                .name("short".into())
                .spawn(work)
                .expect("a thread")
                .join()
                .expect("it burns");
        }
        let (profile, _) = finish(session);
        let found = samples(&profile, |name| name == "short") as f64;
        let share = found / (used.as_secs_f64() * 1000.0);
        let by_process = told(&profile, "by the process timer");
        println!("{life} ms: {share:.3}, {by_process} of {found} by the process timer");
        if told(&profile, "covered") > 0.0 && by_process == 0.0 {
            println!("SKIPPED: this kernel has no process timer that tells threads");
            continue;
        }
        assert!(share >= at_least, "{life} ms: {share}");
        assert!(share <= 1.2, "{life} ms: {share}");
    }
}

#[test]
fn names_from_debug_information_have_lines() {
    let _turn = turn();
    let sampler = LinuxSampler::new().names(Names::Debug);
    let session = sampler.start(100).expect("nobody else samples");
    burn_as_leaf(Duration::from_millis(500));
    let (profile, _) = finish(session);
    let leaves: Vec<_> = profile
        .samples()
        .filter_map(|sample| sample.frames().next())
        .filter(|frame| frame.function().contains("burn_as_leaf"))
        .collect();
    assert!(!leaves.is_empty());
    for leaf in leaves {
        assert!(leaf.file().is_some_and(|file| file.ends_with("mod.rs")));
        assert!(leaf.line().is_some_and(|line| line > 0));
    }
}

#[test]
fn three_tasks_interleaved_on_two_threads_come_out_in_their_shares() {
    const TASKS: [(&str, u32); 3] = [("half", 50), ("third", 30), ("fifth", 20)];
    static CPU_NANOS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = start(1000);
    let workers = [0, 1].map(|number| {
        let recorder = recorder.clone();
        let work = move || {
            let mut random = 0x9e37_79b9_u64 + number;
            while thread_cpu() < Duration::from_secs(3) {
                for ((name, share), spent) in TASKS.into_iter().zip(&CPU_NANOS) {
                    let nanos = recorder.blocking_task(name, || {
                        // Not always the same, or it would keep step with the
                        // kernel's tick.
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        let nanos = u64::from(share) * (500 + (random >> 33) % 1_000);
                        let start = thread_cpu();
                        let until = start + Duration::from_nanos(nanos);
                        while thread_cpu() < until {}
                        (thread_cpu() - start).as_nanos()
                    });
                    spent.fetch_add(u64::try_from(nanos).expect("small"), Ordering::Relaxed);
                }
            }
        };
        thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(work)
            .expect("a thread")
    });
    for worker in workers {
        worker.join().expect("it works");
    }
    let (profile, _) = finish(session);

    let by_task = profile.by_label("task", "samples");
    let labelled: i64 = by_task
        .iter()
        .filter(|(task, _)| task.is_some())
        .map(|(_, samples)| samples)
        .sum();
    let spent: u64 = CPU_NANOS.iter().map(|it| it.load(Ordering::Relaxed)).sum();
    for ((name, _), nanos) in TASKS.into_iter().zip(&CPU_NANOS) {
        let truth = 100.0 * nanos.load(Ordering::Relaxed) as f64 / spent as f64;
        let sampled = by_task.get(&Some(name.to_owned())).copied().unwrap_or(0);
        let sampled = 100.0 * sampled as f64 / labelled as f64;
        println!("{name}: {sampled:.2} of {truth:.2}");
        // At least 1500 different stacks: one standard deviation is 1.3 points.
        assert!(
            (sampled - truth).abs() < 8.0,
            "{name}: {sampled} of {truth}"
        );
    }
    for sample in profile.samples() {
        for function in sample.stack() {
            assert!(!function.contains("markers::marker"), "{function}");
        }
    }
    for number in [0, 1] {
        let samples = samples(&profile, |name| name == format!("worker-{number}"));
        assert!((2600..=3400).contains(&samples), "{samples}");
    }
}

#[test]
fn a_nested_task_has_its_own_label_and_afterwards_there_is_none() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = start(100);
    recorder.blocking_task("outer", || {
        recorder.blocking_task("inner", || burn_as_leaf(Duration::from_millis(800)));
    });
    burn_as_leaf(Duration::from_millis(400));
    let (profile, truth) = finish(session);
    let by_task = profile.by_label("task", "samples");
    let of = |task: &str| by_task.get(&Some(task.into())).copied().unwrap_or(0);
    assert!((68..=92).contains(&of("inner")), "{by_task:?}");
    assert!(of("outer") <= 2, "{by_task:?}");
    let unlabelled = truth.samples as i64 - of("inner") - of("outer");
    assert_eq!(told(&profile, "without a task"), unlabelled as f64);
}

#[test]
fn a_registered_thread_is_armed_early_and_labelled() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = start(1000);
    let worker = thread::Builder::new().name("registered".into());
    let worker = worker.spawn(move || {
        register_thread();
        recorder.blocking_task("early", || burn_as_leaf(Duration::from_secs(1)));
    });
    worker.expect("a thread").join().expect("it burns");
    let (profile, _) = finish(session);
    let early = profile.by_label("task", "samples");
    let early = early.get(&Some("early".into())).copied().unwrap_or(0);
    assert!((800..=1200).contains(&early), "{early}");
}

#[test]
fn renamed_threads_go_by_the_name_of_the_moment() {
    let _turn = turn();
    let session = start(1000);
    let worker = thread::spawn(|| {
        for name in [c"first name", c"second name"] {
            // SAFETY: the name is a string of fewer than 16 bytes.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            burn_as_leaf(Duration::from_millis(500));
        }
    });
    worker.join().expect("it burns");
    let (profile, _) = finish(session);
    for name in ["first name", "second name"] {
        let samples = samples(&profile, |it| it == name);
        assert!((380..=620).contains(&samples), "{name}: {samples}");
    }
}

#[test]
fn others_exclude_it() {
    let _turn = turn();
    let guard = SamplingGuard::acquire().expect("free");
    let error = LinuxSampler::new().start(100).err().expect("busy");
    assert_eq!(error.kind(), ErrorKind::Busy);
    drop(guard);
    for frequency in [0, 1001] {
        let error = LinuxSampler::new().start(frequency).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Setting);
    }
    drop(start(100));
}
