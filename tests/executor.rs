//! A single-threaded executor beside a full capture, with real parts: no call that
//! may block is made on its thread, and none of those made elsewhere is waited for.
//! Each case has a process of its own: the handler that the best sampler leaves keeps
//! the portable one from starting.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use std::backtrace::Backtrace;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use tachograph::{
    Clock, Driver, End, Policy, PosixStore, Recorder, Sampler, SmolClock, SmolOffload, State,
    TokioClock, TokioOffload, json,
};
use tachograph_test_support::{Witness, burn, in_own_process};

/// Long enough for a look at the session, which is taken once a second.
const CAPTURE: Duration = Duration::from_millis(1_500);

/// By then a task of an executor that waits for nobody has ticked.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is seen of an executor's thread.
struct Watch {
    executor: ThreadId,
    seen: Mutex<Seen>,
    has_ticked: Condvar,
}

#[derive(Default)]
struct Seen {
    ticks: u64,
    calls: u64,
    /// Where the executor's thread made a call that may block.
    offences: Vec<String>,
}

impl Watch {
    /// Of the calling thread.
    fn new() -> Arc<Self> {
        Arc::new(Self {
            executor: thread::current().id(),
            seen: Mutex::default(),
            has_ticked: Condvar::new(),
        })
    }

    fn tick(&self) {
        self.seen.lock().expect("no panic").ticks += 1;
        self.has_ticked.notify_all();
    }

    /// Notes a call that may block, and lets it last until the executor has made
    /// some turns: one that waits for it makes none.
    fn call(&self) {
        let mut seen = self.seen.lock().expect("no panic");
        if thread::current().id() == self.executor {
            seen.offences.push(Backtrace::force_capture().to_string());
            return;
        }
        seen.calls += 1;
        let enough = seen.ticks + 3;
        let (_seen, result) = self
            .has_ticked
            .wait_timeout_while(seen, PATIENCE, |seen| seen.ticks < enough)
            .expect("no panic");
        assert!(
            !result.timed_out(),
            "the executor waits for a blocking call"
        );
    }
}

/// How an executor spawns, on its one thread.
type Spawn = Box<dyn Fn(LocalBoxFuture<'static, ()>)>;

/// A recorder of real parts on the calling thread's executor, for one capture.
async fn body(
    sampler: impl Sampler + 'static,
    clock: Rc<dyn Clock>,
    directory: &Path,
    build: impl FnOnce(tachograph::Builder) -> Result<(Recorder, Driver), tachograph::Error>,
    spawn: Spawn,
) {
    let watch = Watch::new();
    let witness = {
        let watch = Arc::clone(&watch);
        Witness::new(move || watch.call())
    };
    let pause = {
        let clock = Rc::clone(&clock);
        async move || {
            let soon = clock.now().saturating_add(Duration::from_millis(1));
            clock.sleep_until(soon).await;
        }
    };
    let ticking = {
        let (watch, pause) = (Arc::clone(&watch), pause.clone());
        async move {
            loop {
                watch.tick();
                pause().await;
            }
        }
    };
    spawn(ticking.boxed_local());
    let policy = Policy::builder()
        .capture_length(CAPTURE)
        .cooldown(Duration::from_secs(3600))
        .interval(Duration::from_secs(3600))
        .build()
        .expect("valid");
    // Opening may block, as starting a recorder may.
    let store = PosixStore::open(directory).expect("a fresh directory");
    let asked = witness.clone();
    let builder = tachograph::builder()
        .directory(directory)
        .until(tachograph_tests::in_an_hour())
        .sampler(witness.sampler(sampler))
        .store(witness.store(store))
        .policy(policy)
        .snapshot(move || {
            asked.call();
            json!(7)
        });
    let (recorder, driver) = build(builder).expect("it starts");
    spawn(driver.boxed_local());
    // Something to sample, which is no business of the executor.
    let busy = thread::spawn(|| burn(Duration::from_millis(500)));
    while recorder.status().captures == 0 {
        assert!(!matches!(recorder.status().state, State::Ended(_)));
        pause().await;
    }
    recorder.stop().await;
    busy.join().expect("it burns");
    assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    let seen = watch.seen.lock().expect("no panic");
    assert!(seen.offences.is_empty(), "{}", seen.offences.join("\n\n"));
    // Recovery, usage, two snapshots, staging, start, a look at the session, stop,
    // encoding, publishing, closing, and the drops.
    assert!(seen.calls >= 12, "{} calls", seen.calls);
    drop(seen);
    assert_eq!(tachograph_tests::captures(directory).len(), 1);
}

fn on_tokio(sampler: impl Sampler + 'static) {
    let around = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("built");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let clock = TokioClock::new();
        let offload = TokioOffload::current().expect("it is there");
        body(
            sampler,
            Rc::new(clock),
            &around.path().join("profiles"),
            |builder| builder.build(TokioClock::new(), offload),
            Box::new(|future| drop(tokio::task::spawn_local(future))),
        )
        .await;
    });
}

fn on_smol(sampler: impl Sampler + 'static) {
    let around = tempfile::tempdir().expect("a directory");
    let executor = Rc::new(smol::LocalExecutor::new());
    let spawning = Rc::clone(&executor);
    let directory = around.path().join("profiles");
    smol::block_on(executor.run(body(
        sampler,
        Rc::new(SmolClock::new()),
        &directory,
        |builder| builder.build(SmolClock::new(), SmolOffload::new()),
        Box::new(move |future| spawning.spawn(future).detach()),
    )));
}

#[test]
fn on_tokio_with_the_best_sampler() {
    in_own_process("on_tokio_with_the_best_sampler", || {
        on_tokio(tachograph::BestSampler::new());
    });
}

#[test]
fn on_tokio_with_the_portable_sampler() {
    in_own_process("on_tokio_with_the_portable_sampler", || {
        on_tokio(tachograph::PprofSampler::new());
    });
}

#[test]
fn on_smol_with_the_best_sampler() {
    in_own_process("on_smol_with_the_best_sampler", || {
        on_smol(tachograph::BestSampler::new());
    });
}

#[test]
fn on_smol_with_the_portable_sampler() {
    in_own_process("on_smol_with_the_portable_sampler", || {
        on_smol(tachograph::PprofSampler::new());
    });
}
