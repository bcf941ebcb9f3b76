//! The suite of tests of real samples of real work, for every sampler.
//!
//! All amounts of work are CPU time, and what is asserted must hold on a loaded
//! machine: names, labels, sums, and shares within bounds that come from the
//! number of samples. There is one sampler in a process: callers take
//! [turns](crate::turn).

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tachograph_core::testing::conformance;
use tachograph_core::{ErrorKind, Sampler, SamplingGuard, Session, Truth};
use tachograph_profile::{Profile, SampleView};

use crate::{burn, finish, labelling_recorder, process_cpu, thread_cpu};

/// A frequency that every sampler has.
const FREQUENCY_HZ: u32 = 100;

fn start(sampler: &dyn Sampler) -> Box<dyn Session> {
    sampler.start(FREQUENCY_HZ).expect("nobody else samples")
}

/// The samples whose `label` is one that is chosen.
pub fn samples(profile: &Profile, label: &str, choose: impl Fn(&str) -> bool) -> i64 {
    profile
        .samples()
        .filter(|sample| sample.label(label).is_some_and(&choose))
        .filter_map(|sample| sample.value("samples"))
        .sum()
}

fn is_burning(leaf: &str) -> bool {
    leaf.contains("spin_hot")
}

/// It passes the conformance suite of the core.
pub fn keeps_the_contract(sampler: &dyn Sampler) {
    let count = |profile: &[u8]| {
        let profile = Profile::decode(profile, 64 << 20).expect("a profile");
        u64::try_from(profile.total("samples").expect("a sum")).expect("not negative")
    };
    conformance::sampler(sampler, &count, &|| {
        burn(Duration::from_millis(100));
    });
}

/// What [`the_hot_function_is_the_leaf`] saw.
#[derive(Debug)]
pub struct Hot {
    /// Samples of the busy thread in the function that burns.
    pub hot: i64,
    /// Other samples of that thread.
    pub elsewhere: i64,
    /// CPU time that the process used between the start and the stop, both
    /// included.
    pub used: Duration,
    /// The profile of it all.
    pub profile: Profile,
    /// What the sampler knows of its truth.
    pub truth: Truth,
}

/// A thread that burns two seconds is in the function that burns, in whose
/// samples, and no other function's, `check` finds what it looks for.
pub fn the_hot_function_is_the_leaf(sampler: &dyn Sampler, check: impl Fn(SampleView<'_>)) -> Hot {
    let before = process_cpu();
    let session = start(sampler);
    thread::Builder::new()
        .name("burner".into())
        .spawn(|| burn(Duration::from_secs(2)))
        .expect("a thread")
        .join()
        .expect("it burns");
    let (profile, truth) = finish(session);
    let used = process_cpu() - before;

    let (mut hot, mut elsewhere) = (0, 0);
    for sample in profile.samples() {
        if sample.label("thread") != Some("burner") {
            continue;
        }
        let count = sample.value("samples").expect("it has a count");
        // The clock is asked once every 300,000 rounds, and a thread begins and
        // ends.
        if sample.stack().next().is_some_and(is_burning) {
            hot += count;
            check(sample);
        } else {
            elsewhere += count;
        }
    }
    let all = profile.total("samples").expect("a sum");
    assert_eq!(u64::try_from(all), Ok(truth.samples));
    // Two seconds at 100 Hz, in a process that does nothing else. What a loaded
    // machine swallows is known to be missing.
    let lost = i64::try_from(truth.lost).expect("small");
    assert!(hot > 0 && hot + lost >= 150, "{hot} and {lost} lost");
    assert!(hot * 100 >= all * 90, "{hot} of {all}");
    Hot {
        hot,
        elsewhere,
        used,
        profile,
        truth,
    }
}

/// With names from debug information, as `sampler` takes them, there are lines.
pub fn names_from_debug_information_have_lines(sampler: &dyn Sampler) {
    let session = start(sampler);
    burn(Duration::from_millis(500));
    let (profile, _) = finish(session);
    let leaves: Vec<_> = profile
        .samples()
        .filter_map(|sample| sample.frames().next())
        .filter(|frame| is_burning(frame.function()))
        .collect();
    assert!(!leaves.is_empty());
    for leaf in leaves {
        assert!(leaf.file().is_some_and(|file| file.ends_with("burn.rs")));
        assert!(leaf.line().is_some_and(|line| line > 0));
    }
}

/// What [`three_tasks_on_two_threads_come_out_in_their_shares`] saw.
#[derive(Debug)]
pub struct Shares {
    /// By how many points the share of a task was off, at worst.
    pub off_by: f64,
    /// The samples of each thread, which used three seconds.
    pub of_threads: [i64; 2],
}

/// Tasks that take turns of some microseconds, at the highest frequency.
pub fn three_tasks_on_two_threads_come_out_in_their_shares(sampler: &dyn Sampler) -> Shares {
    const TASKS: [(&str, u32); 3] = [("half", 50), ("third", 30), ("fifth", 20)];

    let cpu_nanos = [const { AtomicU64::new(0) }; 3];
    let (recorder, _driver) = labelling_recorder(sampler);
    let highest = sampler.info().frequency_hz_max;
    let session = sampler.start(highest).expect("nobody else samples");
    let work = |number: u64| {
        let mut random = 0x9e37_79b9_u64 + number;
        while thread_cpu() < Duration::from_secs(3) {
            for ((name, share), spent) in TASKS.into_iter().zip(&cpu_nanos) {
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
    thread::scope(|scope| {
        for number in [0, 1] {
            let name = format!("worker-{number}");
            let thread = thread::Builder::new().name(name);
            thread
                .spawn_scoped(scope, move || work(number))
                .expect("a thread");
        }
    });
    let (profile, _) = finish(session);

    let by_task = profile.by_label("task", "samples");
    let labelled = samples(&profile, "task", |_| true);
    let spent: u64 = cpu_nanos.iter().map(|it| it.load(Ordering::Relaxed)).sum();
    let mut off_by = 0.0_f64;
    for ((name, _), nanos) in TASKS.into_iter().zip(&cpu_nanos) {
        let truth = 100.0 * nanos.load(Ordering::Relaxed) as f64 / spent as f64;
        let sampled = by_task.get(&Some(name.to_owned())).copied().unwrap_or(0);
        off_by = off_by.max((100.0 * sampled as f64 / labelled as f64 - truth).abs());
    }
    assert_no_markers(&profile);
    let of_threads =
        [0, 1].map(|number| samples(&profile, "thread", |it| it == format!("worker-{number}")));
    assert!(of_threads.iter().all(|it| *it > 10), "{of_threads:?}");
    Shares { off_by, of_threads }
}

/// Tasks with next to no work: what signals interrupt is the entry itself.
pub fn an_entry_that_is_interrupted_leaves_no_marker(sampler: &dyn Sampler) {
    let (recorder, _driver) = labelling_recorder(sampler);
    let highest = sampler.info().frequency_hz_max;
    let session = sampler.start(highest).expect("nobody else samples");
    let start = thread_cpu();
    while thread_cpu() - start < Duration::from_secs(2) {
        for number in 0..10_000_u32 {
            recorder.blocking_task("tiny", || black_box(number));
        }
    }
    let (profile, _) = finish(session);
    assert!(profile.total("samples").is_some_and(|it| it > 50));
    assert_eq!(samples(&profile, "task", |task| task != "tiny"), 0);
    assert_no_markers(&profile);
}

/// A marker has no business in a stack once it is a label.
fn assert_no_markers(profile: &Profile) {
    for sample in profile.samples() {
        for function in sample.stack() {
            assert!(!function.contains("markers::marker"), "{function}");
        }
    }
}

/// What [`a_nested_task_has_its_own_label`] saw.
#[derive(Debug)]
pub struct Nested {
    /// Samples of the inner task, which used 0.8 s.
    pub inner: i64,
    /// Samples without a task, which took 0.4 s.
    pub unlabelled: i64,
    /// The profile of it all.
    pub profile: Profile,
}

/// A task inside of another, and no task after both.
pub fn a_nested_task_has_its_own_label(sampler: &dyn Sampler) -> Nested {
    let (recorder, _driver) = labelling_recorder(sampler);
    let session = start(sampler);
    recorder.blocking_task("outer", || {
        recorder.blocking_task("inner", || burn(Duration::from_millis(800)));
    });
    burn(Duration::from_millis(400));
    let (profile, truth) = finish(session);
    let of = |task: &str| samples(&profile, "task", |it| it == task);
    let (inner, outer) = (of("inner"), of("outer"));
    assert!(inner > 10 && outer <= 2, "{inner} and {outer}");
    let all = i64::try_from(truth.samples).expect("few");
    let unlabelled = all - inner - outer;
    assert!(unlabelled > 5, "{unlabelled} of {all}");
    Nested {
        inner,
        unlabelled,
        profile,
    }
}

/// A task whose name is none has no label, and not that of the task around it.
pub fn a_bad_name_hides_the_task_around_it(sampler: &dyn Sampler) {
    let (recorder, _driver) = labelling_recorder(sampler);
    let session = start(sampler);
    recorder.blocking_task("outer", || {
        recorder.blocking_task("", || burn(Duration::from_millis(600)));
    });
    let (profile, _) = finish(session);
    let by_task = profile.by_label("task", "samples");
    assert!(by_task.get(&None).is_some_and(|it| *it > 0), "{by_task:?}");
    let outer = samples(&profile, "task", |it| it == "outer");
    assert!(outer <= 2, "{by_task:?}");
}

#[inline(never)]
fn recurse(depth: u32) -> u64 {
    if depth == 0 {
        burn(Duration::from_millis(600));
        return 0;
    }
    black_box(recurse(depth - 1)) + 1
}

/// A task is that deep a stack's root; every sample of its work has `label`.
pub fn a_task_at_the_root_of_a_deep_stack(sampler: &dyn Sampler, depth: u32, label: &str) {
    let (recorder, _driver) = labelling_recorder(sampler);
    let session = start(sampler);
    recorder.blocking_task("deep", || recurse(depth));
    let (profile, _) = finish(session);
    let mut seen = false;
    for sample in profile.samples() {
        if sample.stack().any(is_burning) {
            assert_eq!(sample.label("task"), Some(label), "{depth} frames");
            seen = true;
        }
    }
    assert!(seen, "{depth} frames: no sample");
}

/// It does not start beside another, nor at frequencies that it has not.
pub fn others_exclude_it(sampler: &dyn Sampler) {
    let guard = SamplingGuard::acquire().expect("free");
    let error = sampler.start(FREQUENCY_HZ).err().expect("busy");
    assert_eq!(error.kind(), ErrorKind::Busy);
    drop(guard);
    for frequency in [0, sampler.info().frequency_hz_max + 1] {
        let error = sampler.start(frequency).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Setting);
    }
    drop(start(sampler));
}
