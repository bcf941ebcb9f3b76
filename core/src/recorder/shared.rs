//! What the handle, the tasks and the driver share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::SystemTime;

use futures::task::AtomicWaker;

use crate::{End, Name, Requests, State, Status};

/// The mutex is held for a few instructions at a time and never across a call
/// into somebody else's code.
#[derive(Debug)]
pub(crate) struct Shared {
    process: u32,
    recording: AtomicBool,
    stop_asked: AtomicBool,
    waker: AtomicWaker,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    status: Status,
    /// The one request that may wait.
    waiting: Option<Name>,
}

impl Shared {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            process: std::process::id(),
            recording: AtomicBool::new(true),
            stop_asked: AtomicBool::new(false),
            waker: AtomicWaker::new(),
            inner: Mutex::new(Inner {
                status: Status {
                    state: State::Waiting { until: now },
                    captures: 0,
                    dropped: Requests::default(),
                },
                waiting: None,
            }),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is the process that made the recorder, not a forked child,
    /// whose memory says so but whose driver, locks and files are the parent's.
    pub(super) fn is_own_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// Whether tasks are still labelled and requests looked at.
    #[inline]
    pub(crate) fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    pub(crate) fn request(&self, name: Name) {
        // Also asked by a task whose first poll is in a forked child.
        if !self.is_recording() || !self.is_own_process() {
            return;
        }
        {
            let mut inner = self.inner();
            if inner.waiting.is_some() {
                inner.status.dropped.pending += 1;
                return;
            }
            inner.waiting = Some(name);
        }
        self.waker.wake();
    }

    pub(super) fn ask_stop(&self) {
        // A wake in a forked child would write to the parent's event queue.
        if self.is_own_process() && !self.stop_asked.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    pub(super) fn status(&self) -> Status {
        self.inner().status.clone()
    }

    // From here on: for the driver.

    pub(super) fn is_stop_asked(&self) -> bool {
        self.stop_asked.load(Ordering::Acquire)
    }

    pub(super) fn has_request(&self) -> bool {
        self.inner().waiting.is_some()
    }

    pub(super) fn take_request(&self) -> Option<Name> {
        self.inner().waiting.take()
    }

    /// Wakes the task of `context` at the next request or stop.
    pub(super) fn register(&self, context: &Context<'_>) {
        self.waker.register(context.waker());
    }

    pub(super) fn set_state(&self, state: State) {
        self.inner().status.state = state;
    }

    pub(super) fn count_saved(&self) {
        self.inner().status.captures += 1;
    }

    pub(super) fn count_dropped(&self, count: impl FnOnce(&mut Requests)) {
        count(&mut self.inner().status.dropped);
    }

    /// Tasks run unlabelled from now on, and requests do nothing.
    pub(super) fn end_recording(&self) {
        self.recording.store(false, Ordering::Relaxed);
        self.inner().waiting = None;
    }

    pub(super) fn end(&self, end: End) {
        self.end_recording();
        self.set_state(State::Ended(end));
    }
}
