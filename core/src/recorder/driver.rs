//! The only loop. It decides nothing: it asks the schedule for an action,
//! performs it, and reports what happened.

use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, select};

use super::Shared;
use super::capture::NotSaved;
use super::ground::Ground;
use crate::schedule::{Action, EndCause, Event, Outcome, Schedule};
use crate::store::INTERRUPTED_MAX;
use crate::{
    Clock, End, Instant, Limits, Now, Policy, Reason, Requests, Sampler, SnapshotSource, State,
    Timestamp, Window, clock,
};

/// The future that does a recorder's work. Whoever has an executor spawns it
/// there; it needs no particular one.
///
/// It completes when recording is over. Dropping it at any point stops the
/// sampler, leaves nothing half-written, and releases the store last; the drop
/// itself does not block, the work goes where blocking work goes.
#[must_use = "a recorder does nothing unless its driver is polled"]
pub struct Driver {
    future: BoxFuture<'static, ()>,
}

impl Driver {
    pub(super) fn new(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            future: Box::pin(future),
        }
    }

    /// The driver of an inert recorder: it is done at once.
    pub fn inert() -> Self {
        Self::new(async {})
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.future.as_mut().poll(context)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

/// The parts of a recorder, before its first step.
pub(super) struct Loop {
    pub(super) started: Now,
    pub(super) ground: Arc<Ground>,
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sampler: Arc<dyn Sampler>,
    pub(super) snapshot_sources: Vec<Arc<dyn SnapshotSource>>,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    pub(super) window: Window,
}

impl Loop {
    pub(super) async fn run(self) {
        let shared = Arc::clone(&self.shared);
        let ground = Arc::clone(&self.ground);
        tracing::info!(
            target: "tachograph",
            until = %Timestamp::from(self.window.end()),
            "recording enabled"
        );
        let end = self.record().await;
        shared.end_recording();
        match &end {
            End::Deadline | End::Stopped => {
                tracing::info!(target: "tachograph", why = %end, "recording ended");
            }
            _ => tracing::warn!(target: "tachograph", why = %end, "recording ended"),
        }
        ground.set_end(end);
    }

    async fn record(self) -> End {
        let failed = |error: crate::Error| End::Failed {
            why: format!("{error:#}"),
        };
        let recovery = match self.ground.run(|store| store.recover()).await {
            Ok(recovery) => recovery,
            Err(error) => return failed(error),
        };
        if recovery.interrupted.len() >= INTERRUPTED_MAX {
            return End::Interrupted {
                leftovers: recovery.interrupted,
            };
        }
        if !recovery.interrupted.is_empty() {
            tracing::warn!(
                target: "tachograph",
                leftovers = recovery.interrupted.join(", "),
                "the process died during a capture, {} of at most {} times in a row",
                recovery.interrupted.len(),
                INTERRUPTED_MAX - 1
            );
        }
        let schedule = Schedule::new(self.policy, self.window, self.started, recovery.newest);
        Recording {
            now: self.started,
            schedule,
            parts: self,
            dropped_at_capture: Requests::default(),
        }
        .run()
        .await
    }
}

/// A recorder on its way.
pub(super) struct Recording {
    pub(super) parts: Loop,
    pub(super) schedule: Schedule,
    /// The times of the last step.
    now: Now,
    /// The requests dropped until the start of the last capture.
    dropped_at_capture: Requests,
}

impl Recording {
    async fn run(mut self) -> End {
        let mut why = None;
        let mut action = self.step(Event::Wake);
        loop {
            action = match action {
                Action::Wait { until } => match self.parts.shared.take_request() {
                    // At the same instant as the wake before it: a tick that
                    // came since would swallow the request uncounted.
                    Some(name) => self.schedule.step(self.now, Event::Request(name)),
                    None => {
                        self.rest(until).await;
                        self.step(Event::Wake)
                    }
                },
                Action::Refuse => {
                    self.parts
                        .shared
                        .count_dropped(|dropped| dropped.cooldown += 1);
                    self.step(Event::Wake)
                }
                Action::Capture { reason } => {
                    let outcome = self.capture_and_tell(reason, &mut why).await;
                    self.step(Event::Over(outcome))
                }
                Action::End(cause) => {
                    return match (cause, why) {
                        (_, Some(end)) => end,
                        (EndCause::Deadline, None) => End::Deadline,
                        (_, None) => End::Stopped,
                    };
                }
                // Answers to what is only reported during a capture.
                Action::Proceed
                | Action::StartSampling
                | Action::KeepSampling { .. }
                | Action::FinishSampling
                | Action::Abandon => self.step(Event::Wake),
            };
        }
    }

    /// Reports `event` at the present moment, after a stop if one was asked.
    pub(super) fn step(&mut self, event: Event) -> Action {
        self.now = clock::read(&*self.parts.clock);
        if self.parts.shared.is_stop_asked() {
            self.schedule.step(self.now, Event::Stop);
        }
        self.schedule.step(self.now, event)
    }

    async fn rest(&self, until: Instant) {
        let shared = &self.parts.shared;
        let ahead = until.saturating_since(self.now.monotonic);
        shared.set_state(State::Waiting {
            until: self.now.wall.checked_add(ahead).unwrap_or(self.now.wall),
        });
        self.sleep_unless(until, || shared.is_stop_asked() || shared.has_request())
            .await;
    }

    /// Sleeps until `until` or until `signal` holds; the latter is looked at
    /// whenever somebody requests or stops.
    pub(super) async fn sleep_unless(&self, until: Instant, signal: impl Fn() -> bool) {
        let shared = &self.parts.shared;
        let signalled = poll_fn(|context| {
            shared.register(context);
            if signal() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        select(self.parts.clock.sleep_until(until), pin!(signalled)).await;
        if !shared.is_own_process() {
            // A forked child that went on polling: the files and the locks are
            // the parent's, and so is the recording.
            pending::<()>().await;
        }
    }

    async fn capture_and_tell(&mut self, reason: Reason, why: &mut Option<End>) -> Outcome {
        let shared = Arc::clone(&self.parts.shared);
        let dropped = shared.status().dropped;
        let dropped_since = dropped.since(self.dropped_at_capture);
        shared.set_state(State::Capturing {
            reason: reason.clone(),
        });
        match self.capture(&reason, self.now, dropped_since).await {
            Ok(()) => {
                // Not before: what no sidecar tells yet, the next one must.
                self.dropped_at_capture = dropped;
                shared.count_saved();
                Outcome::Saved
            }
            Err(NotSaved::Abandoned) => Outcome::Abandoned,
            Err(NotSaved::Busy(error)) => {
                tracing::warn!(
                    target: "tachograph",
                    cause = %format_args!("{error:#}"),
                    reason = reason.as_str(),
                    "capture skipped"
                );
                if matches!(reason, Reason::Requested(_)) {
                    shared.count_dropped(|dropped| dropped.busy += 1);
                }
                Outcome::Busy
            }
            Err(NotSaved::BudgetExhausted(exhausted)) => {
                *why = Some(End::Budget(exhausted));
                Outcome::BudgetExhausted
            }
            Err(NotSaved::Failed(error)) => {
                *why = Some(End::Failed {
                    why: format!("{error:#}"),
                });
                Outcome::Failed
            }
        }
    }
}
