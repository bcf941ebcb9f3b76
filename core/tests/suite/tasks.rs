//! Labels follow polls, and triggers fire at the first one.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::support::{Bench, MINUTE, at};
use futures::FutureExt;
use futures::future::pending;
use tachograph_core::Recorder;
use tachograph_core::labels::{self, Label};

fn current() -> Option<String> {
    labels::current().name()
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_label_holds_during_polls_only_and_nests() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let mut polls = 0;
    let inner = recorder.task("inner", async { current() });
    let mut outer = pin!(recorder.task("outer", async {
        let before = current();
        let inside = inner.await;
        let after = current();
        poll_fn(|_| {
            polls += 1;
            if polls == 2 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        [before, inside, after, current()]
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(outer.as_mut().poll(&mut context).is_pending());
    assert_eq!(current(), None);
    let seen = match outer.as_mut().poll(&mut context) {
        Poll::Ready(seen) => seen.map(|label| label.expect("labelled")),
        Poll::Pending => panic!("two polls are enough"),
    };
    assert_eq!(seen, ["outer", "inner", "outer", "outer"]);
    assert_eq!(current(), None);
}

#[test]
fn panics_and_drops_leave_no_label() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let panicking = recorder.task("panicking", async { panic!("expected") });
    let outcome = catch_unwind(AssertUnwindSafe(|| poll_once(panicking)));
    assert!(outcome.is_err());
    assert_eq!(current(), None);

    let mut dropped = Box::pin(recorder.task("dropped", pending::<()>()));
    assert!(dropped.as_mut().now_or_never().is_none());
    drop(dropped);
    assert_eq!(current(), None);

    let outcome = catch_unwind(AssertUnwindSafe(|| {
        recorder.blocking_task("panicking", || panic!("expected"));
    }));
    assert!(outcome.is_err());
    assert_eq!(current(), None);
}

#[test]
fn blocking_work_is_labelled_and_returns() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let seen = recorder.blocking_task("sum", current);
    assert_eq!(seen.as_deref(), Some("sum"));
}

#[test]
fn a_trigger_fires_at_the_first_poll_and_only_then() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    simulation.run_until(at(6 * MINUTE));
    let mut task = Box::pin(recorder.task("compaction", pending::<()>()));
    let other = recorder.task("not-a-trigger", async {});
    simulation.settle();
    assert_eq!(other.now_or_never(), Some(()));
    simulation.run_until(at(8 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic"]);
    assert!(task.as_mut().now_or_never().is_none());
    simulation.run_until(at(20 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic", "compaction"]);
    assert!(task.as_mut().now_or_never().is_none());
    simulation.run_until(at(30 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic", "compaction"]);

    recorder.blocking_task("compaction", || ());
    simulation.run_until(at(32 * MINUTE));
    assert_eq!(bench.reasons(), ["periodic", "compaction", "compaction"]);
}

#[test]
fn after_the_end_tasks_run_unlabelled() {
    let bench = Bench::new();
    let (recorder, mut simulation) = bench.start(bench.parts());
    let before = recorder.task("before", async { current() });
    assert!(simulation.run_to_end(recorder.stop()));
    let after = recorder.task("after", async { current() });
    assert_eq!(before.now_or_never(), Some(None));
    assert_eq!(after.now_or_never(), Some(None));
    assert_eq!(recorder.blocking_task("after", current), None);
}

#[test]
fn what_a_task_spawns_does_not_inherit_its_label() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut pool = futures::executor::LocalPool::new();
    let handle = pool.spawner();
    let task = recorder.task("outer", async move {
        use futures::task::LocalSpawnExt;
        let inner = async move { sender.send(current()).expect("somebody listens") };
        handle.spawn_local(inner).expect("the pool lives");
        current()
    });
    assert_eq!(pool.run_until(task).as_deref(), Some("outer"));
    pool.run_until_stalled();
    assert_eq!(receiver.recv().expect("it ran"), None);
}

#[test]
fn bad_names_and_inert_recorders_run_unlabelled() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let hidden = recorder.task("outer", recorder.task("", async { current() }));
    assert_eq!(hidden.now_or_never(), Some(None));
    for name in ["", "periodic", "a\nb"] {
        assert_eq!(
            recorder.task(name, async { current() }).now_or_never(),
            Some(None)
        );
    }
    let inert = Recorder::inert();
    assert_eq!(
        inert.task("named", async { current() }).now_or_never(),
        Some(None)
    );
    assert_eq!(inert.blocking_task("named", current), None);
}

#[test]
fn more_names_than_are_remembered_become_other() {
    let bench = Bench::new();
    let (recorder, _simulation) = bench.start(bench.parts());
    let mut others = 0;
    for number in 0..=labels::NAMES_MAX {
        let label = recorder.blocking_task(&format!("name-{number}"), labels::current);
        assert_ne!(label, Label::NONE);
        others += usize::from(label == Label::OTHER);
    }
    // The other tests of this process remember some names, too.
    assert!(others >= 1);
    assert_eq!(
        recorder.blocking_task("one more", current).as_deref(),
        Some("(other)")
    );
}
