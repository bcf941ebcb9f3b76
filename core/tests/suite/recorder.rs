//! The recorder as a service sees it, on doubles.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Bench, MINUTE, at, end, new, wall};
use serde_json::{Value, json};
use tachograph_core::testing::{
    DelayedOffload, Fault, FaultySnapshot, FaultyStore, InlineOffload, SamplerCall, Simulation,
    StoreCall,
};
use tachograph_core::{
    Application, Clock, End, ErrorKind, Exhausted, Limits, Policy, Reason, Recorder, Requests,
    State, Window,
};

#[test]
fn a_capture_leaves_a_truthful_pair() {
    let bench = Bench::new();
    let mut parts = bench.parts();
    let pool = Application::new(Arc::new(InlineOffload), || json!({ "idle": 2, "open": 3 }));
    parts.snapshot_sources.push(Arc::new(pool));
    let (recorder, mut simulation) = bench.start(parts);
    assert_eq!(
        recorder.status().state,
        State::Capturing {
            reason: Reason::Periodic
        }
    );
    simulation.run_until(at(MINUTE));
    assert_eq!(
        bench.directory.names(),
        [
            "20261130T000000.000000000Z.pprof",
            "20261130T000000.000000000Z.pprof.json"
        ]
    );
    let json = bench
        .directory
        .read("20261130T000000.000000000Z.pprof.json");
    let sidecar: Value = serde_json::from_slice(&json.expect("a sidecar")).expect("JSON");
    // printf '3000 samples\n' | sha256sum
    let sha256 = "4a34d85dabd85d08a1e29b4eeae9221fb3ea9415bd8d6c9b822792abe43d4b16";
    let expected = json!({
        "Reason": "periodic",
        "StartedAt": "2026-11-30T00:00:00Z",
        "FinishedAt": "2026-11-30T00:00:30Z",
        "Until": "2026-11-30T02:00:00Z",
        "RustVersion": sidecar["RustVersion"],
        "Sampler": {
            "Name": "scripted",
            "Version": env!("CARGO_PKG_VERSION"),
            "FrequencyHz": 100
        },
        "Samples": 3000,
        "Lost": 0,
        "Bytes": 13,
        "Sha256": sha256,
        "Requests": { "Cooldown": 0, "Busy": 0, "Pending": 0 },
        "Before": { "Pool": { "idle": 2, "open": 3 } },
        "After": { "Pool": { "idle": 2, "open": 3 } }
    });
    assert_eq!(sidecar, expected);
    assert_eq!(recorder.status().captures, 1);
    assert_eq!(
        recorder.status().state,
        State::Waiting {
            until: wall() + 35 * MINUTE
        }
    );
}

#[test]
fn dropped_requests_are_counted_by_cause_and_told_in_the_next_sidecar() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    // One waits while the first capture runs, two more are dropped.
    for _ in 0..3 {
        recorder.request("compaction").expect("a good reason");
    }
    simulation.run_until(at(MINUTE));
    recorder.request("compaction").expect("a good reason");
    simulation.run_until(at(6 * MINUTE));
    let dropped = Requests {
        cooldown: 2,
        busy: 0,
        pending: 2,
    };
    assert_eq!(recorder.status().dropped, dropped);

    recorder.request("backup").expect("a good reason");
    simulation.run_until(at(12 * MINUTE));
    recorder.request("backup").expect("a good reason");
    simulation.run_until(at(13 * MINUTE));
    let captures = bench.directory.captures();
    let told: Vec<_> = captures.iter().map(|(_, it)| it.requests).collect();
    assert_eq!(told, [Requests::default(), dropped, Requests::default()]);
    assert_eq!(bench.reasons(), ["periodic", "backup", "backup"]);
}

#[test]
fn stopping_keeps_the_capture_in_progress_and_closes_the_store() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(MINUTE / 6));
    assert!(bench.sampler.is_running());
    assert!(simulation.run_to_end(recorder.stop()));
    assert_eq!(bench.clock.now(), at(MINUTE / 6));
    assert_eq!(end(&recorder), End::Stopped);
    assert!(!bench.sampler.is_running());
    assert!(!bench.directory.is_held());
    let captures = bench.directory.captures();
    assert_eq!(captures[0].1.samples, 1000);
    // Again, and with requests after the end.
    assert!(simulation.run_to_end(recorder.stop()));
    recorder.request("compaction").expect("a good reason");
    assert_eq!(recorder.status().dropped, Requests::default());
}

#[test]
fn the_last_handle_stops_the_recorder_and_tasks_do_not_keep_it() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    let clone = recorder.clone();
    let task = recorder.task("compaction", std::future::pending::<()>());
    drop(recorder);
    simulation.settle();
    assert!(bench.sampler.is_running());
    drop(clone);
    simulation.settle();
    assert!(!bench.sampler.is_running());
    assert!(!bench.directory.is_held());
    assert_eq!(bench.reasons(), ["periodic"]);
    drop(task);
}

#[test]
fn both_clocks_cut_a_capture_short() {
    // The machine sleeps during the capture: only the wall clock goes on.
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(Duration::from_millis(500)));
    bench.clock.suspend(180 * MINUTE);
    simulation.run_until(at(MINUTE));
    assert_eq!(end(&recorder), End::Deadline);
    // Noticed at the look once a second.
    assert_eq!(bench.directory.captures()[0].1.samples, 100);

    // The wall clock is stepped back: the monotonic one ends it.
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(MINUTE));
    bench.clock.set_wall(wall() - 60 * MINUTE);
    simulation.run_until(at(121 * MINUTE));
    assert_eq!(end(&recorder), End::Deadline);
}

#[test]
fn somebody_else_profiling_skips_the_capture_and_no_more() {
    let bench = Bench::new();
    for nth in [1, 3] {
        bench
            .sampler
            .fault(nth, SamplerCall::Start, Fault::Error(ErrorKind::Busy));
    }
    let (recorder, mut simulation) = bench.start(bench.parts());
    assert!(bench.directory.names().is_empty(), "a partial was left");
    // The first was periodic: it stays owed until the cooldown is over.
    simulation.run_until(at(6 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic"]);
    // The third start meets a request.
    simulation.run_until(at(12 * MINUTE));
    recorder.request("backup").expect("a good reason");
    simulation.run_until(at(18 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic"]);
    assert_eq!(
        recorder.status().dropped,
        Requests {
            busy: 1,
            ..Requests::default()
        }
    );
    recorder.request("backup").expect("a good reason");
    simulation.run_until(at(19 * MINUTE));
    let captures = bench.directory.captures();
    assert_eq!(captures[1].1.requests.busy, 1);
}

#[test]
fn what_was_dropped_before_a_skipped_capture_is_told_after_it() {
    let bench = Bench::new();
    let busy = Fault::Error(ErrorKind::Busy);
    bench.sampler.fault(2, SamplerCall::Start, busy);
    let (recorder, mut simulation) = bench.start(bench.parts());
    for minute in [1, 2, 3] {
        simulation.run_until(at(minute * MINUTE));
        recorder.request("backup").expect("a good reason");
    }
    // Skipped, and then taken.
    for minute in [6, 12] {
        simulation.run_until(at(minute * MINUTE));
        recorder.request("backup").expect("a good reason");
    }
    simulation.run_until(at(13 * MINUTE));
    let captures = bench.directory.captures();
    assert_eq!(captures.len(), 2);
    let told = captures[1].1.requests;
    assert_eq!(told, recorder.status().dropped);
    assert_eq!((told.cooldown, told.busy), (3, 1));
}

#[test]
fn a_wall_clock_past_the_deadline_is_seen_before_a_request_is_served() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(6 * MINUTE));
    bench.clock.suspend(180 * MINUTE);
    recorder.request("backup").expect("a good reason");
    simulation.settle();
    assert_eq!(end(&recorder), End::Deadline);
    assert_eq!(bench.sampler.starts(), 1);
}

#[test]
fn every_fault_ends_recording_with_its_cause_and_leaves_nothing_half() {
    use tachograph_core::testing::{Fault::Panic, StoreCall::*};
    const ERROR: Fault = Fault::Error(ErrorKind::Storage);

    let whole_first = |bench: &Bench, recorder: &Recorder, captures: usize, said: &str| {
        match end(recorder) {
            End::Failed { why } => assert!(why.contains(said), "{why}"),
            other => panic!("{said}: {other:?}"),
        }
        assert_eq!(bench.directory.captures().len(), captures, "{said}");
        assert_eq!(bench.directory.names().len(), 2 * captures, "{said}");
        assert!(!bench.sampler.is_running(), "{said}");
        assert!(!bench.directory.is_held(), "{said}");
    };

    for (call, nth, captures) in [
        (Recover, 1, 0),
        (Usage, 2, 1),
        (Stage, 2, 1),
        (Publish, 2, 1),
    ] {
        for fault in [ERROR, Panic] {
            let bench = Bench::new();
            let store = FaultyStore::new(bench.store(), [(call, nth, fault)]);
            let parts = bench.parts_on(store, InlineOffload);
            let (recorder, mut simulation) = bench.start(parts);
            simulation.run_until(at(60 * MINUTE));
            whole_first(&bench, &recorder, captures, &format!("{call:?}"));
        }
    }
    for call in [
        SamplerCall::Start,
        SamplerCall::Check,
        SamplerCall::Stop,
        SamplerCall::Encode,
    ] {
        for fault in [Fault::Error(ErrorKind::Sampling), Panic] {
            let bench = Bench::new();
            bench.sampler.fault(2, call, fault);
            let (recorder, mut simulation) = bench.start(bench.parts());
            simulation.run_until(at(60 * MINUTE));
            whole_first(&bench, &recorder, 1, &format!("{call:?}"));
        }
    }
    for (fault, said) in [
        (Some(Fault::Error(ErrorKind::Snapshot)), "snapshot"),
        (Some(Panic), "panicked: injected fault"),
        (None, "longer than 5s"),
    ] {
        // Counted: before and after the first capture, before the second.
        for (nth, captures) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
            let bench = Bench::new();
            let mut parts = bench.parts();
            let source = FaultySnapshot::new(nth, fault);
            parts.snapshot_sources.push(Arc::new(source));
            let (recorder, mut simulation) = bench.start(parts);
            simulation.run_until(at(60 * MINUTE));
            whole_first(&bench, &recorder, captures, said);
        }
    }
}

#[test]
fn a_panicking_application_snapshot_is_named() {
    let bench = Bench::new();
    let mut parts = bench.parts();
    let source = Application::new(Arc::new(InlineOffload), || panic!("the pool is poisoned"));
    parts.snapshot_sources.push(Arc::new(source));
    let (recorder, mut simulation) = bench.start(parts);
    simulation.run_until(at(MINUTE));
    assert_eq!(
        end(&recorder),
        End::Failed {
            why: "the application's snapshot failed: panicked: the pool is poisoned".into()
        }
    );
}

#[test]
fn what_is_too_large_fails_the_capture() {
    for (bytes, fits) in [(8 << 20, true), ((8 << 20) + 1, false)] {
        let bench = Bench::new();
        bench.sampler.set_profile_bytes(bytes);
        let (recorder, mut simulation) = bench.start(bench.parts());
        simulation.run_until(at(MINUTE));
        assert_eq!(bench.directory.captures().len(), usize::from(fits));
        assert_eq!(matches!(recorder.status().state, State::Ended(_)), !fits);
    }
    let bench = Bench::new();
    let mut parts = bench.parts();
    let source = Application::new(Arc::new(InlineOffload), || "x".repeat(16 << 10).into());
    parts.snapshot_sources.push(Arc::new(source));
    let (recorder, mut simulation) = bench.start(parts);
    simulation.run_until(at(MINUTE));
    match end(&recorder) {
        End::Failed { why } => assert!(why.contains("16384"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(bench.directory.names().is_empty());
}

#[test]
fn an_exhausted_budget_is_an_orderly_end() {
    let bench = Bench::new();
    let mut parts = bench.parts();
    parts.limits = Limits::builder().entries_max(5).build().expect("valid");
    bench.directory.put_other("somebody-elses");
    let (recorder, mut simulation) = bench.start(parts);
    simulation.run_until(at(60 * MINUTE));
    assert_eq!(recorder.status().captures, 2);
    simulation.run_until(at(70 * MINUTE));
    assert_eq!(
        end(&recorder),
        End::Budget(Exhausted::Entries {
            found: 5,
            allowed: 3
        })
    );

    let bench = Bench::new();
    bench.directory.set_bytes_free(Some(1 << 20));
    let (recorder, _simulation) = bench.start(bench.parts());
    assert!(matches!(
        end(&recorder),
        End::Budget(Exhausted::FreeSpace { .. })
    ));
    assert!(bench.directory.names().is_empty());
}

#[test]
fn a_restart_keeps_the_cooldown_and_three_deaths_end_recording() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(6 * MINUTE));
    recorder.request("backup").expect("a good reason");
    let mut handles = vec![recorder];
    let mut second_start = 6 * MINUTE;
    for death in 1..=3 {
        // It dies ten seconds into the capture that starts now, and is back
        // within the same second.
        simulation.run_until(at(second_start + MINUTE / 6));
        assert!(bench.sampler.is_running());
        bench.directory.kill_holder();
        drop(simulation);
        let names = bench.directory.names();
        let partials = names.iter().filter(|name| name.ends_with(".partial"));
        assert_eq!(partials.count(), death);

        if death == 3 {
            break;
        }
        let (recorder, restarted) = bench.start(bench.parts());
        handles.push(recorder);
        simulation = restarted;
        let next_start = second_start + 5 * MINUTE;
        simulation.run_until(at(next_start));
        assert!(!bench.sampler.is_running(), "inside the cooldown");
        second_start = next_start;
    }
    let (recorder, _simulation) = bench.start(bench.parts());
    match end(&recorder) {
        End::Interrupted { leftovers } => assert_eq!(leftovers.len(), 3),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.reasons(), ["periodic"]);
    assert!(!bench.directory.is_held());
}

#[test]
fn a_complete_capture_clears_the_deaths_before_it() {
    let bench = Bench::new();
    for second in ["00", "01"] {
        bench.directory.put(
            &format!("20261129T0000{second}.000000000Z.pprof.partial"),
            b"x",
        );
    }
    let (_recorder, mut simulation) = bench.start(bench.parts());
    assert_eq!(bench.directory.names().len(), 3);
    simulation.run_until(at(MINUTE));
    assert_eq!(bench.directory.names().len(), 2);
}

#[test]
fn slow_parts_delay_a_capture_and_the_cooldown_still_counts_from_its_start() {
    let bench = Bench::new();
    let slow = DelayedOffload::new(bench.clock.clone(), Duration::from_secs(2));
    let parts = bench.parts_on(bench.store(), slow);
    let (recorder, driver) = new(parts);
    let mut simulation = Simulation::new(bench.clock.clone());
    simulation.spawn(driver);
    simulation.run_until(at(5 * MINUTE + Duration::from_secs(2)));
    recorder.request("backup").expect("a good reason");
    simulation.run_until(at(10 * MINUTE));
    let captures = bench.directory.captures();
    // 2 s to recover: the first capture was decided on then.
    assert_eq!(captures[0].0.start(), wall() + Duration::from_secs(2));
    assert_eq!(
        captures[1].0.start(),
        wall() + 5 * MINUTE + Duration::from_secs(2)
    );
}

#[test]
fn a_stop_before_sampling_began_leaves_nothing() {
    let bench = Bench::new();
    let slow = DelayedOffload::new(bench.clock.clone(), Duration::from_secs(1));
    let parts = bench.parts_on(bench.store(), slow);
    let (recorder, driver) = new(parts);
    let mut simulation = Simulation::new(bench.clock.clone());
    simulation.spawn(driver);
    // Recovered after 1 s, counted after 2 s, staged at 3 s.
    simulation.run_until(at(Duration::from_millis(2500)));
    assert!(simulation.run_to_end(recorder.stop()));
    assert_eq!(end(&recorder), End::Stopped);
    assert_eq!(bench.sampler.starts(), 0);
    assert!(bench.directory.names().is_empty());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let bench = Bench::new();
    let mut parts = bench.parts();
    parts.policy = Policy::builder().frequency_hz(1000).build().expect("valid");
    struct Slow;
    impl tachograph_core::Sampler for Slow {
        fn info(&self) -> tachograph_core::SamplerInfo {
            tachograph_core::SamplerInfo {
                name: "slow",
                version: "1",
                frequency_hz_max: 100,
                labels: tachograph_core::LabelChannel::ThreadLocal,
            }
        }
        fn start(
            &self,
            _: u32,
        ) -> Result<Box<dyn tachograph_core::Session>, tachograph_core::Error> {
            unreachable!("it is never started")
        }
    }
    parts.sampler = Arc::new(Slow);
    let error = Recorder::new(parts).expect_err("1000 Hz is over 100 Hz");
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("1000"), "{error}");
    assert!(error.to_string().contains("slow"), "{error}");
}

#[test]
fn bad_reasons_are_errors_and_an_inert_recorder_takes_anything() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    for reason in ["", "periodic", "a\0b", &"x".repeat(65)] {
        let error = recorder.request(reason).expect_err(reason);
        assert_eq!(error.kind(), ErrorKind::Setting);
        Recorder::inert().request(reason).expect("inert");
    }
    let inert = Recorder::inert();
    assert_eq!(inert.status().state, State::Off);
    assert!(Simulation::new(bench.clock.clone()).run_to_end(async move { inert.stop().await }));
}

#[test]
fn a_store_that_panics_when_closed_does_not_keep_anybody_waiting() {
    let bench = Bench::new();
    let store = FaultyStore::new(bench.store(), [(StoreCall::Close, 1, Fault::Panic)]);
    let (recorder, mut simulation) = bench.start(bench.parts_on(store, InlineOffload));
    assert!(simulation.run_to_end(recorder.stop()));
    assert_eq!(end(&recorder), End::Stopped);
}

#[test]
fn a_sampler_that_waited_for_a_thread_does_not_start_after_the_end() {
    // 2 s each: recover, count, stage. The sampler would start at 8 s.
    let slow = Duration::from_secs(2);
    let over = Duration::from_secs(7);
    let prepare = |window: Duration| {
        let bench = Bench::new();
        let offload = DelayedOffload::new(bench.clock.clone(), slow);
        let mut parts = bench.parts_on(bench.store(), offload);
        parts.window = Window::until(wall() + window, wall())
            .expect("within 72 h")
            .expect("ahead");
        let (recorder, simulation) = bench.start(parts);
        (bench, recorder, simulation)
    };
    let nothing_was_sampled = |bench: &Bench| {
        assert_eq!(bench.sampler.starts(), 0);
        assert!(bench.directory.names().is_empty());
        assert!(!bench.directory.is_held());
    };

    let (bench, recorder, mut simulation) = prepare(over);
    simulation.run_until(at(MINUTE));
    assert_eq!(end(&recorder), End::Deadline);
    nothing_was_sampled(&bench);

    // The machine sleeps meanwhile, and the wall clock is set back at once.
    let (bench, recorder, mut simulation) = prepare(60 * MINUTE);
    simulation.run_until(at(over));
    bench.clock.suspend(60 * MINUTE);
    simulation.run_until(at(over + slow));
    bench.clock.set_wall(wall());
    simulation.run_until(at(MINUTE));
    assert_eq!(end(&recorder), End::Deadline);
    nothing_was_sampled(&bench);

    let (bench, recorder, mut simulation) = prepare(60 * MINUTE);
    simulation.run_until(at(over));
    assert!(simulation.run_to_end(recorder.stop()));
    assert_eq!(end(&recorder), End::Stopped);
    nothing_was_sampled(&bench);
}

#[test]
fn what_is_asked_after_the_end_is_neither_kept_nor_counted() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    assert!(simulation.run_to_end(recorder.stop()));
    let ended = recorder.status();
    for _ in 0..2 {
        recorder.request("backup").expect("a good reason");
    }
    assert_eq!(recorder.status(), ended);
}
