//! Work with a name.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::labels::{self, Label};
use crate::recorder::Shared;
use crate::{LabelChannel, Name};

pin_project! {
    /// A future whose polls carry the label of its task; made by
    /// [`Recorder::task`](crate::Recorder::task).
    ///
    /// Only what runs while this future is polled is labelled: not other tasks
    /// of the same thread, and not tasks spawned from inside. It does not keep
    /// the recorder alive.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Task<F> {
        labelling: Option<Labelling>,
        #[pin]
        future: F,
    }
}

impl<F> Task<F> {
    pub(crate) fn new(labelling: Option<Labelling>, future: F) -> Self {
        Self { labelling, future }
    }
}

impl<F: Future> Future for Task<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match this.labelling {
            None => this.future.poll(context),
            Some(labelling) => labelling.run(|| this.future.poll(context)),
        }
    }
}

/// What it takes to label work: there is none where the recorder is inert or
/// over, or the name bad.
#[derive(Debug)]
pub(crate) struct Labelling {
    shared: Arc<Shared>,
    label: Label,
    channel: LabelChannel,
    /// The trigger that the work's first run fires.
    trigger: Option<Name>,
}

impl Labelling {
    pub(crate) fn new(
        shared: Arc<Shared>,
        name: Name,
        channel: LabelChannel,
        is_trigger: bool,
    ) -> Self {
        Self {
            shared,
            label: Label::intern(&name),
            channel,
            trigger: is_trigger.then_some(name),
        }
    }

    /// For work that has no label, not even that of the work around it.
    pub(crate) fn without_label(shared: Arc<Shared>, channel: LabelChannel) -> Self {
        Self {
            shared,
            label: Label::NONE,
            channel,
            trigger: None,
        }
    }

    /// Runs `work`, labelled as long as recording is not over.
    // Inlined into each poll, so what is rare or large is elsewhere.
    #[inline]
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if self.trigger.is_some() {
            self.fire();
        }
        if !self.shared.is_recording() {
            return work();
        }
        match self.channel {
            LabelChannel::ThreadLocal => labels::with(self.label, work),
            LabelChannel::MarkerFrames => self.run_marked(work),
        }
    }

    #[cold]
    fn fire(&mut self) {
        if let Some(name) = self.trigger.take() {
            self.shared.request(name);
        }
    }

    #[inline(never)]
    fn run_marked<T>(&self, work: impl FnOnce() -> T) -> T {
        labels::enter_marked(self.label, work)
    }
}
