//! Real captures of real work, by way of the facade, as a user links it.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tachograph::{End, Policy, Recorder, State};
use tachograph_test_support::{process_cpu, spin_hot, turn};
use tachograph_tests::{Capture, captures};

/// One long capture, to be ended by `stop`.
fn start(directory: &Path) -> Recorder {
    let policy = Policy::builder()
        .capture_length(Duration::from_secs(60))
        .cooldown(Duration::from_secs(60))
        .interval(Duration::from_secs(60))
        .build()
        .expect("valid");
    tachograph::builder()
        .directory(directory)
        .until(tachograph_tests::in_an_hour())
        .policy(policy)
        .start(tachograph::tokio())
        .expect("it starts")
}

/// Whether samples are being taken. (The recorder's state says `Capturing`
/// from the very beginning of a capture, also while it is being prepared.)
fn is_sampling() -> bool {
    tachograph_core::SamplingGuard::acquire().is_err()
}

async fn until_sampling() {
    while !is_sampling() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn stop(recorder: &Recorder, directory: &Path) -> Capture {
    recorder.stop().await;
    assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    let mut captures = captures(directory);
    assert_eq!(captures.len(), 1);
    captures.pop().expect("there is one")
}

fn runtime(workers: Option<usize>) -> tokio::runtime::Runtime {
    let mut builder = match workers {
        None => tokio::runtime::Builder::new_current_thread(),
        Some(_) => tokio::runtime::Builder::new_multi_thread(),
    };
    builder
        .worker_threads(workers.unwrap_or(1))
        .thread_name("worker")
        .enable_time()
        .build()
        .expect("built")
}

fn directory() -> (tempfile::TempDir, std::path::PathBuf) {
    let around = tempfile::tempdir().expect("a directory");
    let directory = around.path().join("profiles");
    (around, directory)
}

#[test]
fn three_tasks_interleaved_on_two_workers() {
    const TASKS: [(&str, u64); 3] = [("half", 50), ("third", 30), ("fifth", 20)];
    /// About a millisecond for the largest share.
    const ROUNDS_PER_POINT: u64 = 10_000;
    static DONE: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    let _turn = turn();
    let (_around, directory) = directory();
    let capture = runtime(Some(2)).block_on(async {
        let recorder = start(&directory);
        until_sampling().await;
        let ended = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        // Two of each, so that both workers always have something to steal.
        for ((name, share), done) in TASKS.into_iter().zip(&DONE).cycle().take(6) {
            let ended = Arc::clone(&ended);
            tasks.push(tokio::spawn(recorder.task(name, async move {
                while !ended.load(Ordering::Relaxed) {
                    spin_hot(share * ROUNDS_PER_POINT, 1);
                    done.fetch_add(share, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })));
        }
        // Until there are some 600 samples, by the CPU time that they stand for.
        let start = process_cpu();
        while process_cpu() - start < Duration::from_secs(6) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ended.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("it works");
        }
        stop(&recorder, &directory).await
    });

    let by_task = capture.profile.by_label("task", "samples");
    let samples = |task: &str| by_task.get(&Some(task.to_owned())).copied().unwrap_or(0);
    let labelled: i64 = TASKS.iter().map(|(task, _)| samples(task)).sum();
    let done: u64 = DONE.iter().map(|done| done.load(Ordering::Relaxed)).sum();
    assert!(labelled >= 200, "{by_task:?}");
    for ((task, _), done_by_it) in TASKS.into_iter().zip(&DONE) {
        // Equal rounds cost equal CPU time, so rounds are the truth. Four
        // standard deviations of a share of one half in 600 samples are 8
        // points; a neighbour that slows one worker down takes some more.
        let truth = 100.0 * done_by_it.load(Ordering::Relaxed) as f64 / done as f64;
        let sampled = 100.0 * samples(task) as f64 / labelled as f64;
        assert!(
            (sampled - truth).abs() < 12.0,
            "{task}: {sampled} of {truth}"
        );
    }
    let (mut hot, mut all) = (0, 0);
    for sample in capture.profile.samples() {
        let count = sample.value("samples").expect("a count");
        if sample.label("task").is_some() {
            assert_eq!(sample.label("thread"), Some("worker"));
            all += count;
            let leaf = sample.stack().next().expect("a leaf");
            if leaf.contains("spin_hot") {
                hot += count;
            }
        }
    }
    assert!(hot * 100 >= all * 95, "{hot} of {all}");
}

#[test]
fn the_sidecar_says_what_is_specified_and_is_true() {
    let _turn = turn();
    let (_around, directory) = directory();
    let capture = runtime(None).block_on(async {
        let recorder = start(&directory);
        until_sampling().await;
        let burnt = process_cpu();
        while process_cpu() - burnt < Duration::from_secs(1) {
            spin_hot(1_000_000, 1);
            tokio::task::yield_now().await;
        }
        stop(&recorder, &directory).await
    });
    let json = capture.json.as_object().expect("an object");
    let mut names: Vec<_> = json.keys().map(String::as_str).collect();
    // Left out if the binary has none, as the one of this test may.
    names.retain(|name| *name != "Executable");
    // Left out by a sampler that cannot tell.
    names.retain(|name| *name != "Coverage");
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "After",
            "Before",
            "Bytes",
            "FinishedAt",
            "Lost",
            "Reason",
            "Requests",
            "RustVersion",
            "Sampler",
            "Samples",
            "Sha256",
            "StartedAt",
            "Until"
        ]
    );
    let (before, after) = (&capture.sidecar.before, &capture.sidecar.after);
    assert_eq!(before.workers, Some(1));
    assert!(before.tasks.is_some_and(|tasks| tasks >= 1), "{before:?}");
    if cfg!(target_os = "linux") {
        assert!(
            before.threads.is_some_and(|threads| threads >= 2),
            "{before:?}"
        );
    }
    let used = |it: &tachograph::Snapshot| {
        let cpu = it.process_cpu.expect("the system can tell");
        cpu.user_seconds + cpu.system_seconds
    };
    assert!(used(after) - used(before) >= 1.0);
    // What the profile claims was really used between the two snapshots. (The
    // start of the sampler takes some of the second that was burnt.)
    let claimed = capture.profile.total("cpu").expect("a sum") as f64 / 1e9;
    assert!(
        claimed >= 0.5 && claimed <= used(after) - used(before) + 0.01,
        "{claimed}"
    );

    if let Some(coverage) = capture.sidecar.coverage {
        assert!(coverage.threads_seen >= 1, "{coverage:?}");
        let used = coverage.cpu_used_seconds;
        assert!(
            (coverage.cpu_covered_seconds / used - 1.0).abs() < 0.2,
            "{coverage:?}"
        );
        assert!(json["Coverage"]["CPUUsedSeconds"].is_number(), "{json:?}");
    }

    let best = tachograph::Sampler::info(&tachograph::BestSampler::new());
    assert_eq!(capture.sidecar.sampler.name, best.name);
    assert_eq!(capture.sidecar.sampler.version, best.version);
    assert_eq!(capture.sidecar.sampler.frequency_hz, 100);
    assert_eq!(capture.sidecar.rust_version.split('.').count(), 3);
    let start: String = capture
        .sidecar
        .started_at
        .to_string()
        .chars()
        .filter(|it| it.is_ascii_digit())
        .collect();
    let name: String = capture.name.chars().filter(char::is_ascii_digit).collect();
    assert!(name.starts_with(&start), "{name}, {start}");

    let profile = &capture.profile;
    let types: Vec<_> = profile.sample_types().collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    assert_eq!(profile.tables().period, 10_000_000);
    assert_eq!(
        profile.started_at(),
        Some(capture.sidecar.started_at.system_time())
    );
    assert!(profile.duration() > Duration::ZERO);
    let main = profile.mappings().next().expect("mapping 1");
    assert_eq!(
        Path::new(main.path()),
        std::env::current_exe().expect("this program")
    );
    let executable = capture.sidecar.executable.as_ref();
    assert_eq!(main.build_id(), executable.map(|it| &*it.build_id));
}

#[test]
fn a_service_that_panics_in_a_loop_survives() {
    let _turn = turn();
    let (_around, directory) = directory();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (caught, capture) = runtime(Some(1)).block_on(async {
        let recorder = start(&directory);
        until_sampling().await;
        let ended = Arc::new(AtomicBool::new(false));
        let threads = [0, 1].map(|_| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                let mut caught = 0_u64;
                while !ended.load(Ordering::Relaxed) {
                    caught += u64::from(catch_unwind(|| panic!("expected")).is_err());
                }
                caught
            })
        });
        let burnt = process_cpu();
        while process_cpu() - burnt < Duration::from_secs(4) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ended.store(true, Ordering::Relaxed);
        let caught = threads.map(|it| it.join().expect("it survives"));
        (caught, stop(&recorder, &directory).await)
    });
    std::panic::set_hook(hook);
    assert!(caught.iter().all(|caught| *caught > 0));
    assert!(capture.sidecar.samples > 0);
}

#[test]
fn a_runtime_that_shuts_down_during_a_capture_leaves_nothing_behind() {
    let _turn = turn();
    for workers in [None, Some(2)] {
        let (_around, directory) = directory();
        let runtime = runtime(workers);
        let recorder = runtime.block_on(async {
            let recorder = start(&directory);
            until_sampling().await;
            recorder
        });
        drop(runtime);
        assert!(!is_sampling());
        assert_eq!(recorder.status().state, State::Ended(End::Abandoned));
        assert!(captures(&directory).is_empty());
        tachograph::PosixStore::open(&directory).expect("the directory is free");
    }
}
