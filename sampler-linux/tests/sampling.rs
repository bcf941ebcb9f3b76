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

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::start;
use tachograph_sampler_linux::{LinuxSampler, Names, register_thread};
use tachograph_test_support::sampling::{self, samples};
use tachograph_test_support::{
    burn, finish, labelling_recorder, process_cpu, thread_cpu, told, turn,
};

#[test]
fn keeps_the_contract() {
    let _turn = turn();
    sampling::keeps_the_contract(&LinuxSampler::new());
}

#[test]
fn the_hot_function_is_the_leaf_of_whole_stacks() {
    let _turn = turn();
    let seen = sampling::the_hot_function_is_the_leaf(&LinuxSampler::new(), |sample| {
        let stack: Vec<&str> = sample.stack().collect();
        let root = stack.iter().any(|it| it.contains("thread_start"));
        assert!(root, "{stack:?}");
    });
    assert!((170..=230).contains(&seen.hot), "{}", seen.hot);
    assert!(seen.elsewhere <= 20, "{}", seen.elsewhere);
    let all = seen.profile.total("samples").expect("a sum");
    assert_eq!(seen.profile.total("cpu"), Some(all * 10_000_000));
    assert!(seen.truth.executable_build_id.is_some());
    // The burner's all reach their root; a stray one of another thread may not.
    for what in ["cut", "broken"] {
        let share = told(&seen.profile, what) / all as f64;
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
                burn(cpu);
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
        .map(|number| {
            samples(&profile, "thread", |name| {
                name == format!("worker-{number}")
            })
        })
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
                burn(Duration::from_millis(life));
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
        let found = samples(&profile, "thread", |name| name == "short") as f64;
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
    sampling::names_from_debug_information_have_lines(&sampler);
}

#[test]
fn three_tasks_interleaved_on_two_threads_come_out_in_their_shares() {
    let _turn = turn();
    let sampler = LinuxSampler::new();
    let seen = sampling::three_tasks_on_two_threads_come_out_in_their_shares(&sampler);
    println!("off by {:.2} points", seen.off_by);
    // At least 1500 different stacks: one standard deviation is 1.3 points.
    assert!(seen.off_by < 8.0, "{seen:?}");
    for samples in seen.of_threads {
        assert!((2600..=3400).contains(&samples), "{samples}");
    }
}

#[test]
fn a_nested_task_has_its_own_label_and_afterwards_there_is_none() {
    let _turn = turn();
    let seen = sampling::a_nested_task_has_its_own_label(&LinuxSampler::new());
    assert!((68..=92).contains(&seen.inner), "{}", seen.inner);
    let unlabelled = told(&seen.profile, "without a task");
    assert_eq!(unlabelled, seen.unlabelled as f64);
}

#[test]
fn an_entry_that_is_interrupted_leaves_no_marker() {
    let _turn = turn();
    sampling::an_entry_that_is_interrupted_leaves_no_marker(&LinuxSampler::new());
}

#[test]
fn a_bad_name_hides_the_task_around_it() {
    let _turn = turn();
    sampling::a_bad_name_hides_the_task_around_it(&LinuxSampler::new());
}

#[test]
fn a_task_at_the_root_of_a_deep_stack_is_not_passed_over() {
    let _turn = turn();
    for depth in [50, 300] {
        sampling::a_task_at_the_root_of_a_deep_stack(&LinuxSampler::new(), depth, "deep");
    }
}

#[test]
fn a_registered_thread_is_armed_early_and_labelled() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder(&LinuxSampler::new());
    let session = start(1000);
    let worker = thread::Builder::new().name("registered".into());
    let worker = worker.spawn(move || {
        register_thread();
        recorder.blocking_task("early", || burn(Duration::from_secs(1)));
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
            burn(Duration::from_millis(500));
        }
    });
    worker.join().expect("it burns");
    let (profile, _) = finish(session);
    for name in ["first name", "second name"] {
        let samples = samples(&profile, "thread", |it| it == name);
        assert!((380..=620).contains(&samples), "{name}: {samples}");
    }
}

#[test]
fn others_exclude_it() {
    let _turn = turn();
    sampling::others_exclude_it(&LinuxSampler::new());
}
