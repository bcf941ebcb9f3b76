//! Blocking work, kept away from the executor's threads.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::channel::oneshot;

use crate::{Error, ErrorKind};

/// A piece of blocking work.
pub type Work = Box<dyn FnOnce() + Send + 'static>;

/// Runs blocking work where the runtime wants it: on a blocking pool, not on
/// an executor thread.
///
/// Everything in a recorder that may block (file work, starting and stopping a
/// sampler, symbolizing, encoding, the application's own snapshot closure)
/// goes through here, and nothing else does.
///
/// # Contract
///
/// An implementation promises that [`spawn`](Self::spawn) neither blocks nor
/// panics, and that it either runs `work` exactly once or, when the runtime is
/// shutting down or the system refuses it a thread, drops it unrun. It need not
/// say which: the core hands over work that takes care of itself when dropped.
/// Pieces may run in parallel and in any order. Implementations need not
/// contain panics of the work; the core does.
pub trait Offload: Send + Sync {
    /// Runs `work` soon, elsewhere.
    fn spawn(&self, work: Work);
}

impl<O: Offload + ?Sized> Offload for Arc<O> {
    fn spawn(&self, work: Work) {
        (**self).spawn(work);
    }
}

/// Runs `work` on `offload` and waits for what it returns.
///
/// The work itself is not cancelled when the returned future is dropped; its
/// result is then dropped where the work ran.
///
/// # Errors
///
/// [`ErrorKind::Panicked`] if the work panicked, [`ErrorKind::ShuttingDown`]
/// if it was dropped unrun.
pub fn run<T: Send + 'static>(
    offload: &dyn Offload,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let (sender, receiver) = oneshot::channel();
    offload.spawn(Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        // A receiver that went away takes nothing with it: the result is
        // dropped here, off the executor.
        drop(sender.send(result));
    }));
    async move {
        match receiver.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => Err(panicked(&*panic)),
            Err(oneshot::Canceled) => Err(Error::new(
                ErrorKind::ShuttingDown,
                "the runtime refused blocking work: it is shutting down or out of threads",
            )),
        }
    }
}

/// The error for a contained panic, with its message where it has one.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Error {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(ErrorKind::Panicked, format!("panicked: {message}"))
}

/// Hands `work` over so that it runs in any case: where `offload` runs it, or,
/// if that drops it unrun, right there. A panic in it is contained.
pub(crate) fn spawn_surely(offload: &dyn Offload, work: impl FnOnce() + Send + 'static) {
    struct Surely<F: FnOnce()>(Option<F>);

    impl<F: FnOnce()> Surely<F> {
        fn run(&mut self) {
            if let Some(work) = self.0.take() {
                // The clean-up of a recorder must not take the service down.
                drop(catch_unwind(AssertUnwindSafe(work)));
            }
        }
    }

    impl<F: FnOnce()> Drop for Surely<F> {
        fn drop(&mut self) {
            self.run();
        }
    }

    let mut surely = Surely(Some(work));
    offload.spawn(Box::new(move || surely.run()));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt;

    use super::*;

    struct Inline;

    impl Offload for Inline {
        fn spawn(&self, work: Work) {
            work();
        }
    }

    struct Refusing;

    impl Offload for Refusing {
        fn spawn(&self, work: Work) {
            drop(work);
        }
    }

    #[test]
    fn results_panics_and_refusals_come_back() {
        let value = run(&Inline, || 7).now_or_never().expect("ran inline");
        assert_eq!(value.expect("ran"), 7);

        let panic = run(&Inline, || -> u32 { panic!("no disk {}", 3) })
            .now_or_never()
            .expect("ran inline")
            .expect_err("panicked");
        assert_eq!(panic.kind(), ErrorKind::Panicked);
        assert_eq!(panic.to_string(), "panicked: no disk 3");

        let refused = run(&Refusing, || 7)
            .now_or_never()
            .expect("refused")
            .expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::ShuttingDown);
    }

    #[test]
    fn sure_work_runs_exactly_once_whatever_the_runtime_does() {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        spawn_surely(&Inline, || {
            RUNS.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(RUNS.load(Ordering::Relaxed), 1);
        spawn_surely(&Refusing, || {
            RUNS.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(RUNS.load(Ordering::Relaxed), 2);
        spawn_surely(&Refusing, || panic!("contained"));
    }
}
