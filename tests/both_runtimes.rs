//! One recorder body, on tokio (whose time is paused, and jumps) and on smol.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tachograph::testing::ScriptedSampler;
use tachograph::{Clock, End, Policy, PosixStore, Reason, Recorder, Runtime, State, Store, json};

const CAPTURE: Duration = Duration::from_millis(40);
const COOLDOWN: Duration = Duration::from_millis(80);

/// Waits until the recorder's state is as it should be, however long that
/// takes.
async fn wait_for(recorder: &Recorder, clock: &dyn Clock, is_so: impl Fn(&State) -> bool) {
    while !is_so(&recorder.status().state) {
        let soon = clock.now().saturating_add(Duration::from_millis(1));
        clock.sleep_until(soon).await;
    }
}

fn is_waiting(state: &State) -> bool {
    matches!(state, State::Waiting { .. })
}

async fn body(runtime: impl Runtime + Send + Sync, directory: &Path) {
    let clock = runtime.clock();
    let sampler = ScriptedSampler::new();
    let policy = Policy::builder()
        .capture_length(CAPTURE)
        .cooldown(COOLDOWN)
        .interval(Duration::from_secs(3600))
        .build()
        .expect("valid");
    let recorder = tachograph::builder()
        .directory(directory)
        .until(tachograph_tests::in_an_hour())
        .clock(Arc::clone(&clock))
        .sampler(sampler.clone())
        .policy(policy)
        .trigger("compaction")
        .snapshot(|| json!({ "open": 3 }))
        .start(runtime)
        .expect("it starts");
    PosixStore::open(directory).expect_err("the directory is locked");

    // The first capture, and a request that is dropped in its cooldown.
    wait_for(&recorder, &*clock, |state| {
        *state
            == State::Capturing {
                reason: Reason::Periodic,
            }
    })
    .await;
    recorder.request("backup").expect("a good reason");
    wait_for(&recorder, &*clock, is_waiting).await;
    assert_eq!(recorder.status().captures, 1);
    assert_eq!(sampler.starts(), 1);

    // A task that is a trigger, after the cooldown.
    clock
        .sleep_until(clock.now().saturating_add(2 * COOLDOWN))
        .await;
    assert_eq!(recorder.status().dropped.cooldown, 1);
    let label = recorder
        .task("compaction", async {
            tachograph_core::labels::current().name()
        })
        .await;
    assert_eq!(label.as_deref(), Some("compaction"));
    wait_for(&recorder, &*clock, |state| {
        matches!(state, State::Capturing { .. })
    })
    .await;
    wait_for(&recorder, &*clock, is_waiting).await;
    assert_eq!(recorder.status().captures, 2);

    // A third, which the stop cuts short and keeps.
    clock
        .sleep_until(clock.now().saturating_add(2 * COOLDOWN))
        .await;
    recorder.request("by hand").expect("a good reason");
    while !sampler.is_running() {
        clock
            .sleep_until(clock.now().saturating_add(Duration::from_millis(1)))
            .await;
    }
    recorder.stop().await;
    assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    assert!(!sampler.is_running());

    let store = PosixStore::open(directory).expect("the directory is free");
    let usage = store.usage(512).expect("counted");
    assert_eq!(usage.entries, 6);
}

fn mount(block_on: impl FnOnce(BoxFuture<'_, ()>), runtime: impl Runtime + Send + Sync) {
    let around = tempfile::tempdir().expect("a directory");
    let directory = around.path().join("profiles");
    block_on(Box::pin(body(runtime, &directory)));
}

#[test]
fn on_tokio_with_one_thread_and_paused_time() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("built");
    mount(|body| runtime.block_on(body), tachograph::tokio());
}

#[test]
fn on_tokio_with_many_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("built");
    mount(|body| runtime.block_on(body), tachograph::tokio());
}

#[test]
fn on_smol() {
    mount(|body| smol::block_on(body), tachograph::smol());
}

#[test]
fn on_an_executor_of_ones_own() {
    let executor = Arc::new(smol::Executor::new());
    let runs = Arc::clone(&executor);
    mount(
        |body| smol::block_on(runs.run(body)),
        tachograph::Smol::on(executor),
    );
}
