//! One recorder body, on tokio (whose time is paused, and jumps) and on smol.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use tachograph::testing::ScriptedSampler;
use tachograph::{Clock, End, Policy, PosixStore, Runtime, Sidecar, State, Store, json};

const CAPTURE: Duration = Duration::from_millis(40);
const COOLDOWN: Duration = Duration::from_millis(80);

/// Goes on doing `what` until `is_done`, however long that takes.
async fn until(clock: &dyn Clock, mut what: impl AsyncFnMut(), is_done: impl Fn() -> bool) {
    while !is_done() {
        what().await;
        let soon = clock.now().saturating_add(Duration::from_millis(1));
        clock.sleep_until(soon).await;
    }
}

/// Nothing here depends on how fast the machine is: only on what happens in
/// the end.
async fn body(runtime: impl Runtime, directory: &Path) {
    let clock = runtime.clock();
    let clock = &*clock;
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
        .sampler(sampler.clone())
        .policy(policy)
        .trigger("compaction")
        .snapshot(|| json!({ "open": 3 }))
        .start(runtime)
        .expect("it starts");
    PosixStore::open(directory).expect_err("the directory is locked");
    let captures = || recorder.status().captures;

    // The first capture, which nobody asked for.
    until(clock, async || {}, || captures() == 1).await;
    assert_eq!(sampler.starts(), 1);

    // A task that is a trigger: it takes effect once the cooldown is over.
    let run_task = async || {
        let label = async { tachograph_core::labels::current().name() };
        let label = recorder.task("compaction", label).await;
        assert_eq!(label.as_deref(), Some("compaction"));
    };
    until(clock, run_task, || captures() == 2).await;

    // By hand, and a stop that cuts it short if it is still going.
    let request = async || recorder.request("by hand").expect("a good reason");
    until(clock, request, || sampler.starts() > 2).await;
    recorder.stop().await;
    assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    assert!(!sampler.is_running());

    let left = PosixStore::open(directory).expect("the directory is free");
    let usage = left.usage(512).expect("counted");
    assert_eq!(usage.entries, 2 * captures());
    drop(left);
    let mut sidecars: Vec<_> = std::fs::read_dir(directory)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    sidecars.sort();
    let sidecars: Vec<_> = sidecars
        .iter()
        .map(|path| std::fs::read(path).expect("readable"))
        .map(|json| Sidecar::from_json(&json).expect("a sidecar"))
        .collect();
    let reasons: Vec<_> = sidecars.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons[..3], ["periodic", "compaction", "by hand"]);
    for sidecar in &sidecars {
        assert_eq!(sidecar.before.pool, Some(json!({ "open": 3 })));
    }
}

fn mount(block_on: impl FnOnce(LocalBoxFuture<'_, ()>), runtime: impl Runtime) {
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
