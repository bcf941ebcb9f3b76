//! Real samples of real work.
//!
//! There is one profiler in a process, so the tests take turns. What they
//! assert must hold on a loaded machine: names, labels, sums, and shares within
//! bounds that come from the number of samples.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use tachograph_core::testing::{
    InlineOffload, ManualClock, MemoryDirectory, MemoryStore, conformance,
};
use tachograph_core::{
    CappedWriter, ErrorKind, Parts, Recorder, Sampler, SamplingGuard, Session, Span, Truth, Window,
};
use tachograph_profile::Profile;
use tachograph_sampler_pprof::{Names, PprofSampler};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("not negative")
}

/// Uses `cpu` of CPU time in this very function, whatever the machine does
/// meanwhile.
#[inline(never)]
fn burn_as_leaf(cpu: Duration) -> u64 {
    let until = thread_cpu() + cpu;
    let mut state = 1_u64;
    while thread_cpu() < until {
        // Nothing here is a call, also without optimisation.
        let mut round = 0;
        while round < 200_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            round += 1;
        }
        black_box(state);
    }
    state
}

fn finish(session: Box<dyn Session>) -> (Profile, Truth) {
    let samples = session.stop().expect("it stops");
    let mut writer = CappedWriter::new(8 << 20);
    let span = Span {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
    };
    let truth = samples.encode(span, &mut writer).expect("it encodes");
    let profile = Profile::decode(&writer.into_bytes(), 64 << 20).expect("it decodes");
    (profile, truth)
}

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
        Arc::new(PprofSampler::new()),
        Box::new(MemoryStore::open(&MemoryDirectory::new()).expect("free")),
    ))
    .expect("the parts fit")
}

#[test]
fn keeps_the_contract() {
    let _turn = turn();
    let count = |profile: &[u8]| {
        let profile = Profile::decode(profile, 64 << 20).expect("a profile");
        u64::try_from(profile.total("samples").expect("a sum")).expect("not negative")
    };
    conformance::sampler(&PprofSampler::new(), &count, &|| {
        burn_as_leaf(Duration::from_millis(100));
    });
}

#[test]
fn the_hot_function_is_the_leaf_and_values_are_cpu_time() {
    let _turn = turn();
    let before = clock_gettime(ClockId::ProcessCPUTime);
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    thread::Builder::new()
        .name("burner".into())
        .spawn(|| burn_as_leaf(Duration::from_secs(2)))
        .expect("a thread")
        .join()
        .expect("it burns");
    let (profile, truth) = finish(session);
    let after = clock_gettime(ClockId::ProcessCPUTime);

    let hot: i64 = profile
        .samples()
        .filter(|sample| sample.label("thread") == Some("burner"))
        .filter(|sample| {
            // The clock is asked once every 200,000 rounds.
            sample
                .stack()
                .next()
                .is_some_and(|leaf| leaf.contains("burn_as_leaf"))
        })
        .filter_map(|sample| sample.value("samples"))
        .sum();
    let all = profile.total("samples").expect("a sum");
    assert_eq!(u64::try_from(all), Ok(truth.samples));
    // Two seconds at 100 Hz, in a process that does nothing else. What a loaded
    // machine swallows is known to be missing.
    let lost = i64::try_from(truth.lost).expect("small");
    assert!(hot > 0 && hot + lost >= 150, "{hot} and {lost} lost");
    assert!(hot * 100 >= all * 90, "{hot} of {all}");

    // No sample of ours is weightless, and none weighs time nobody used.
    let cpu = profile.total("cpu").expect("a sum");
    let used = Duration::try_from(after).expect("positive")
        - Duration::try_from(before).expect("positive");
    assert!(u128::try_from(cpu).expect("positive") <= used.as_nanos());
    assert!(cpu >= 2_000_000_000, "{cpu}");
}

#[test]
fn names_from_debug_information_have_lines() {
    let _turn = turn();
    let sampler = PprofSampler::new().names(Names::Debug);
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
        assert!(
            leaf.file()
                .is_some_and(|file| file.ends_with("sampling.rs"))
        );
        assert!(leaf.line().is_some_and(|line| line > 0));
    }
}

#[test]
fn three_tasks_interleaved_on_two_threads_come_out_in_their_shares() {
    const TASKS: [(&str, u32); 3] = [("half", 50), ("third", 30), ("fifth", 20)];
    static CPU_NANOS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    let workers = [0, 1].map(|number| {
        let recorder = recorder.clone();
        let work = move || {
            for _ in 0..60 {
                for ((name, share), spent) in TASKS.into_iter().zip(&CPU_NANOS) {
                    let start = thread_cpu();
                    let cpu = Duration::from_micros(u64::from(share) * 500);
                    recorder.blocking_task(name, || burn_as_leaf(cpu));
                    let nanos = (thread_cpu() - start).as_nanos();
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
        // About 600 samples: one standard deviation is 2 points.
        assert!(
            (sampled - truth).abs() < 10.0,
            "{name}: {sampled} of {truth}"
        );
    }
    // A marker has no business in a stack once it is a label.
    for sample in profile.samples() {
        for function in sample.stack() {
            assert!(!function.contains("markers::marker"), "{function}");
        }
    }
    let threads = profile.by_label("thread", "samples");
    for number in [0, 1] {
        let samples = threads.get(&Some(format!("worker-{number}")));
        assert!(samples.is_some_and(|samples| *samples > 10), "{threads:?}");
    }
}

#[test]
fn a_nested_task_has_its_own_label() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    recorder.blocking_task("outer", || {
        recorder.blocking_task("inner", || burn_as_leaf(Duration::from_millis(800)));
    });
    let (profile, _) = finish(session);
    let by_task = profile.by_label("task", "samples");
    let inner = by_task.get(&Some("inner".into())).copied().unwrap_or(0);
    let outer = by_task.get(&Some("outer".into())).copied().unwrap_or(0);
    assert!(inner > 10, "{by_task:?}");
    assert!(outer <= 2, "{by_task:?}");
}

#[inline(never)]
fn recurse(depth: u32) -> u64 {
    if depth == 0 {
        burn_as_leaf(Duration::from_millis(600))
    } else {
        black_box(recurse(depth - 1)) + 1
    }
}

#[test]
fn a_task_beyond_the_cut_of_a_deep_stack_is_not_passed_over() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    for (depth, label) in [(50, "deep"), (300, "(unknown: stack cut)")] {
        let session = PprofSampler::new().start(100).expect("nobody else samples");
        recorder.blocking_task("deep", || recurse(depth));
        let (profile, _) = finish(session);
        for sample in profile.samples() {
            if sample
                .stack()
                .any(|function| function.contains("burn_as_leaf"))
            {
                assert_eq!(sample.label("task"), Some(label), "{depth} frames");
            }
        }
    }
}

#[test]
fn a_bad_name_hides_the_task_around_it() {
    let _turn = turn();
    let (recorder, _driver) = labelling_recorder();
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    recorder.blocking_task("outer", || {
        recorder.blocking_task("", || burn_as_leaf(Duration::from_millis(600)));
    });
    let (profile, _) = finish(session);
    let by_task = profile.by_label("task", "samples");
    assert!(
        by_task.get(&None).is_some_and(|samples| *samples > 0),
        "{by_task:?}"
    );
    let outer = by_task.get(&Some("outer".into())).copied().unwrap_or(0);
    assert!(outer <= 2, "{by_task:?}");
}

#[test]
fn others_exclude_it() {
    let _turn = turn();
    let guard = SamplingGuard::acquire().expect("free");
    let error = PprofSampler::new().start(100).err().expect("busy");
    assert_eq!(error.kind(), ErrorKind::Busy);
    drop(guard);
    for frequency in [0, 101] {
        let error = PprofSampler::new().start(frequency).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Setting);
    }
    drop(PprofSampler::new().start(100).expect("free again"));
}

#[test]
fn panics_in_a_loop_on_two_threads_survive_a_capture() {
    let _turn = turn();
    // A panic message for each would be all the output.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let session = PprofSampler::new().start(100).expect("nobody else samples");
    let stop = Arc::new(AtomicBool::new(false));
    let workers = [0, 1].map(|_| {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            let mut caught = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                caught += u64::from(catch_unwind(|| panic!("expected")).is_err());
            }
            caught
        })
    });
    // CPU time, so that a slow machine is tried no less.
    let start = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("positive");
    let burnt =
        || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("positive") - start;
    while burnt() < Duration::from_secs(4) {
        thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    let caught: Vec<_> = workers.into_iter().map(|it| it.join()).collect();
    std::panic::set_hook(hook);
    let (_, truth) = finish(session);
    for caught in caught {
        assert!(caught.expect("it survived") > 0);
    }
    assert!(truth.samples > 0);
}
