//! When a capture happens. Pure: time is an argument, nothing is waited for.

use std::time::Duration;
use std::time::SystemTime;

use crate::{Instant, Name, Now, Policy, Reason, Window};

/// What happened, for [`Schedule::step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time passed, or the recorder woke for no known cause.
    Wake,
    /// Somebody asked to stop.
    Stop,
    /// Somebody asked for a capture.
    Request(Name),
    /// The capture's files are made, and sampling would start now.
    Prepared,
    /// The sampler runs.
    Sampling,
    /// The capture that [`Action::Capture`] asked for is over.
    Over(Outcome),
}

/// How a capture went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stands in the store.
    Saved,
    /// It was given up before sampling began: at [`Action::Abandon`], or since
    /// somebody asked to stop or the deadline passed after
    /// [`Action::StartSampling`].
    Abandoned,
    /// Somebody else in this process was profiling.
    Busy,
    /// A budget left no room for it.
    BudgetExhausted,
    /// Something went wrong.
    Failed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing until `until`, or until somebody stops or requests.
    Wait {
        /// When to wake at the latest.
        until: Instant,
    },
    /// The request just reported is dropped: the cooldown is not over.
    Refuse,
    /// Take a capture.
    Capture {
        /// Why.
        reason: Reason,
    },
    /// Go on with the capture that is being prepared or put away.
    Proceed,
    /// Start the sampler.
    StartSampling,
    /// Keep sampling until `until` at the latest, then report a wake.
    KeepSampling {
        /// When to wake at the latest.
        until: Instant,
    },
    /// Stop sampling and keep what was sampled.
    FinishSampling,
    /// Give the capture up; sampling has not begun.
    Abandon,
    /// Recording is over.
    End(EndCause),
}

/// Why the schedule ended recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// The window closed, by one clock or the other.
    Deadline,
    /// Somebody asked.
    Stopped,
    /// A budget left no room for a further capture.
    BudgetExhausted,
    /// A capture failed.
    Failed,
}

/// The rules by which captures happen.
///
/// # Order of calls
///
/// Report every event with [`step`](Self::step) and do what it returns; report
/// [`Event::Wake`] at the instant a returned wait names. Between
/// [`Action::Capture`] and [`Event::Over`] lie, in this order, one
/// [`Event::Prepared`], one [`Event::Sampling`] and any number of wakes; a
/// capture that ends early skips to `Over`. A stop may be reported at any time
/// and is remembered. A request is reported only while no capture runs, after
/// a wake was answered with [`Action::Wait`] at the same instant: so a tick
/// goes before a request. After [`Action::End`] nothing is to be reported.
///
/// # Rules
///
/// - The first capture is owed from the start. The first tick comes one
///   interval plus one cooldown after the start, so that a job that also runs
///   every interval does not always fall into the cooldown of a periodic
///   capture; the next one interval after the first was handled; from then on
///   the phase is fixed, and ticks that were missed collapse into one.
/// - At most one periodic capture is owed. It is taken as soon as the cooldown
///   allows, and any capture taken meanwhile pays it; one that met
///   [`Outcome::Busy`] stays owed.
/// - The cooldown runs from start to start.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tachograph_core::schedule::{Action, Event, Schedule};
/// use tachograph_core::{Instant, Now, Policy, Reason, Window};
///
/// let now = Now { monotonic: Instant::ORIGIN, wall: SystemTime::UNIX_EPOCH };
/// let window = Window::until(now.wall + Duration::from_secs(3600), now.wall)?.expect("open");
/// let mut schedule = Schedule::new(Policy::default(), window, now, None);
/// assert_eq!(
///     schedule.step(now, Event::Wake),
///     Action::Capture { reason: Reason::Periodic }
/// );
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    policy: Policy,
    deadline: Deadline,
    /// Whether it was seen to have passed: a wall clock that is set back
    /// afterwards opens no window again.
    deadline_seen: bool,
    cooldown_ends: Instant,
    tick: Tick,
    owed: bool,
    phase: Phase,
    /// Since when no capture runs.
    idle_since: Instant,
    stop_asked: bool,
}

/// When a window closes, by each clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    monotonic: Instant,
    wall: SystemTime,
}

impl Deadline {
    /// Whether either clock has reached it.
    pub fn has_passed(self, now: Now) -> bool {
        now.monotonic >= self.monotonic || now.wall >= self.wall
    }
}

#[derive(Clone, Copy, Debug)]
struct Tick {
    due: Instant,
    /// Until the first one was handled the phase is not fixed.
    is_first: bool,
}

#[derive(Clone, Debug)]
enum Phase {
    Idle,
    /// A capture is being prepared or put away.
    Capturing {
        reason: Reason,
    },
    Sampling {
        reason: Reason,
        until: Instant,
    },
}

/// How often the wall clock is looked at while sampling.
const WALL_CHECK_EVERY: Duration = Duration::from_secs(1);

impl Schedule {
    /// A schedule that starts `now`. `newest_capture` is the wall time of the
    /// newest capture or leftover of an earlier run, whose cooldown still
    /// counts; one in the future counts as taken now.
    pub fn new(
        policy: Policy,
        window: Window,
        now: Now,
        newest_capture: Option<SystemTime>,
    ) -> Self {
        let cooldown_left = newest_capture.map_or(Duration::ZERO, |newest| {
            let age = now.wall.duration_since(newest).unwrap_or(Duration::ZERO);
            policy.cooldown().saturating_sub(age)
        });
        let first_tick = now
            .monotonic
            .saturating_add(policy.interval())
            .saturating_add(policy.cooldown());
        Self {
            policy,
            deadline: Deadline {
                monotonic: now.monotonic.saturating_add(window.remaining(now.wall)),
                wall: window.end(),
            },
            deadline_seen: false,
            cooldown_ends: now.monotonic.saturating_add(cooldown_left),
            tick: Tick {
                due: first_tick,
                is_first: true,
            },
            owed: true,
            phase: Phase::Idle,
            idle_since: now.monotonic,
            stop_asked: false,
        }
    }

    /// When it ends recording. Work that is handed over at
    /// [`Action::StartSampling`] may wait for a thread, and asks again whether
    /// this has passed before it starts the sampler.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Takes one event and says what to do.
    pub fn step(&mut self, now: Now, event: Event) -> Action {
        match event {
            Event::Stop => self.stop_asked = true,
            Event::Over(outcome) => {
                if let Some(cause) = self.capture_over(now.monotonic, outcome) {
                    return Action::End(cause);
                }
            }
            Event::Wake | Event::Request(_) | Event::Prepared | Event::Sampling => {}
        }
        self.deadline_seen |= self.deadline.has_passed(now);
        let end = if self.stop_asked {
            Some(EndCause::Stopped)
        } else if self.deadline_seen {
            Some(EndCause::Deadline)
        } else {
            None
        };
        match &self.phase {
            Phase::Idle => match end {
                Some(cause) => Action::End(cause),
                None => self.idle(now.monotonic, event),
            },
            Phase::Capturing { reason } => match event {
                Event::Prepared if end.is_some() => Action::Abandon,
                Event::Prepared => Action::StartSampling,
                Event::Sampling => {
                    let until = now.monotonic.saturating_add(self.policy.capture_length());
                    self.phase = Phase::Sampling {
                        reason: reason.clone(),
                        until,
                    };
                    self.sampling(now.monotonic, until, end)
                }
                _ => Action::Proceed,
            },
            Phase::Sampling { until, .. } => self.sampling(now.monotonic, *until, end),
        }
    }

    fn idle(&mut self, now: Instant, event: Event) -> Action {
        self.handle_ticks(now);
        if self.owed && now >= self.cooldown_ends {
            return self.begin(now, Reason::Periodic);
        }
        if let Event::Request(name) = event {
            return if now < self.cooldown_ends {
                Action::Refuse
            } else {
                self.begin(now, Reason::Requested(name))
            };
        }
        let mut until = self.tick.due.min(self.deadline.monotonic);
        if self.owed {
            until = until.min(self.cooldown_ends);
        }
        Action::Wait { until }
    }

    fn handle_ticks(&mut self, now: Instant) {
        let Tick { due, is_first } = self.tick;
        if now < due {
            return;
        }
        self.owed = true;
        let phase = if is_first {
            // Handled when due, or when a capture that was running ended.
            due.max(self.idle_since)
        } else {
            due
        };
        // The next multiple of the interval after now, without a loop over
        // those that were missed: there may be millions.
        let interval = self.policy.interval();
        let into_interval = remainder(now.saturating_since(phase), interval);
        self.tick = Tick {
            due: now.saturating_add(interval - into_interval),
            is_first: false,
        };
    }

    fn begin(&mut self, now: Instant, reason: Reason) -> Action {
        self.owed = false;
        self.cooldown_ends = now.saturating_add(self.policy.cooldown());
        self.phase = Phase::Capturing {
            reason: reason.clone(),
        };
        Action::Capture { reason }
    }

    fn sampling(&self, now: Instant, until: Instant, end: Option<EndCause>) -> Action {
        if end.is_some() || now >= until {
            return Action::FinishSampling;
        }
        Action::KeepSampling {
            until: until
                .min(self.deadline.monotonic)
                .min(now.saturating_add(WALL_CHECK_EVERY)),
        }
    }

    fn capture_over(&mut self, now: Instant, outcome: Outcome) -> Option<EndCause> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        self.idle_since = now;
        match outcome {
            Outcome::Saved => None,
            Outcome::Abandoned => {
                // If nobody asked to stop, whoever gave it up saw this.
                self.deadline_seen = true;
                None
            }
            Outcome::Busy => {
                let was_periodic = matches!(
                    phase,
                    Phase::Capturing {
                        reason: Reason::Periodic
                    } | Phase::Sampling {
                        reason: Reason::Periodic,
                        ..
                    }
                );
                self.owed |= was_periodic;
                None
            }
            Outcome::BudgetExhausted => Some(EndCause::BudgetExhausted),
            Outcome::Failed => Some(EndCause::Failed),
        }
    }
}

/// What is left of `duration` after as many whole `interval`s as fit.
fn remainder(duration: Duration, interval: Duration) -> Duration {
    const NANOS_PER_SECOND: u128 = 1_000_000_000;
    let nanos = duration.as_nanos() % interval.as_nanos();
    // Less than `interval`, so both parts fit their types.
    Duration::new(
        (nanos / NANOS_PER_SECOND) as u64,
        (nanos % NANOS_PER_SECOND) as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const WALL: SystemTime = SystemTime::UNIX_EPOCH;

    fn at(elapsed: Duration) -> Now {
        Now {
            monotonic: Instant::from_origin(elapsed),
            wall: WALL + elapsed,
        }
    }

    fn schedule(window: Duration, newest: Option<SystemTime>) -> Schedule {
        let window = Window::until(WALL + window, WALL)
            .expect("valid")
            .expect("open");
        Schedule::new(Policy::default(), window, at(Duration::ZERO), newest)
    }

    fn wait(elapsed: Duration) -> Action {
        Action::Wait {
            until: Instant::from_origin(elapsed),
        }
    }

    fn request() -> Event {
        Event::Request(Name::new("compaction").expect("valid"))
    }

    fn capture(schedule: &mut Schedule, from: Duration, to: Duration) -> Action {
        assert_eq!(
            schedule.step(at(from), Event::Prepared),
            Action::StartSampling
        );
        schedule.step(at(from), Event::Sampling);
        assert_eq!(schedule.step(at(to), Event::Wake), Action::FinishSampling);
        schedule.step(at(to), Event::Over(Outcome::Saved))
    }

    const PERIODIC: Action = Action::Capture {
        reason: Reason::Periodic,
    };

    #[test]
    fn a_request_is_refused_until_exactly_the_end_of_the_cooldown() {
        let mut schedule = schedule(60 * MINUTE, None);
        assert_eq!(schedule.step(at(Duration::ZERO), Event::Wake), PERIODIC);
        let next = capture(&mut schedule, Duration::ZERO, MINUTE / 2);
        assert_eq!(next, wait(35 * MINUTE));
        let just_before = 5 * MINUTE - Duration::from_nanos(1);
        assert_eq!(schedule.step(at(just_before), request()), Action::Refuse);
        assert!(matches!(
            schedule.step(at(5 * MINUTE), request()),
            Action::Capture {
                reason: Reason::Requested(_)
            }
        ));
    }

    #[test]
    fn nothing_starts_at_the_deadline_itself() {
        for (elapsed, ends) in [
            (10 * MINUTE - Duration::from_nanos(1), false),
            (10 * MINUTE, true),
        ] {
            let mut schedule = schedule(10 * MINUTE, None);
            let action = schedule.step(at(elapsed), Event::Wake);
            assert_eq!(action == Action::End(EndCause::Deadline), ends);
        }
    }

    #[test]
    fn either_clock_ends_it_and_a_wall_clock_stepped_back_does_not_prolong_it() {
        let mut by_wall = schedule(10 * MINUTE, None);
        let stepped = Now {
            monotonic: Instant::ORIGIN,
            wall: WALL + 10 * MINUTE,
        };
        assert_eq!(
            by_wall.step(stepped, Event::Wake),
            Action::End(EndCause::Deadline)
        );
        let mut by_monotonic = schedule(10 * MINUTE, None);
        let stepped = Now {
            monotonic: Instant::from_origin(10 * MINUTE),
            wall: WALL,
        };
        assert_eq!(
            by_monotonic.step(stepped, Event::Wake),
            Action::End(EndCause::Deadline)
        );
    }

    #[test]
    fn the_wall_clock_is_looked_at_every_second_of_sampling() {
        let mut schedule = schedule(60 * MINUTE, None);
        schedule.step(at(Duration::ZERO), Event::Wake);
        schedule.step(at(Duration::ZERO), Event::Prepared);
        assert_eq!(
            schedule.step(at(Duration::ZERO), Event::Sampling),
            Action::KeepSampling {
                until: Instant::from_origin(Duration::from_secs(1))
            }
        );
        let stepped = Now {
            monotonic: Instant::from_origin(Duration::from_secs(1)),
            wall: WALL + 60 * MINUTE,
        };
        assert_eq!(schedule.step(stepped, Event::Wake), Action::FinishSampling);
        assert_eq!(
            schedule.step(stepped, Event::Over(Outcome::Saved)),
            Action::End(EndCause::Deadline)
        );
    }

    #[test]
    fn a_deadline_that_was_seen_stays_even_if_the_wall_clock_is_set_back() {
        let past = |elapsed| Now {
            wall: WALL + 60 * MINUTE,
            ..at(elapsed)
        };
        let second = Duration::from_secs(1);
        let mut sampling = schedule(60 * MINUTE, None);
        sampling.step(at(Duration::ZERO), Event::Wake);
        sampling.step(at(Duration::ZERO), Event::Prepared);
        sampling.step(at(Duration::ZERO), Event::Sampling);
        assert_eq!(
            sampling.step(past(second), Event::Wake),
            Action::FinishSampling
        );
        assert_eq!(
            sampling.step(at(2 * second), Event::Over(Outcome::Saved)),
            Action::End(EndCause::Deadline)
        );

        let mut prepared = schedule(60 * MINUTE, None);
        prepared.step(at(Duration::ZERO), Event::Wake);
        assert_eq!(
            prepared.step(past(second), Event::Prepared),
            Action::Abandon
        );
        assert_eq!(
            prepared.step(at(2 * second), Event::Over(Outcome::Abandoned)),
            Action::End(EndCause::Deadline)
        );
    }

    #[test]
    fn a_stop_before_sampling_gives_the_capture_up_and_later_keeps_it() {
        let mut early = schedule(60 * MINUTE, None);
        early.step(at(Duration::ZERO), Event::Wake);
        assert_eq!(early.step(at(Duration::ZERO), Event::Stop), Action::Proceed);
        assert_eq!(
            early.step(at(Duration::ZERO), Event::Prepared),
            Action::Abandon
        );
        assert_eq!(
            early.step(at(Duration::ZERO), Event::Over(Outcome::Abandoned)),
            Action::End(EndCause::Stopped)
        );

        let mut late = schedule(60 * MINUTE, None);
        late.step(at(Duration::ZERO), Event::Wake);
        late.step(at(Duration::ZERO), Event::Prepared);
        late.step(at(Duration::ZERO), Event::Sampling);
        assert_eq!(
            late.step(at(MINUTE / 4), Event::Stop),
            Action::FinishSampling
        );
    }

    #[test]
    fn a_busy_periodic_capture_stays_owed_and_counts_for_the_cooldown() {
        let mut schedule = schedule(60 * MINUTE, None);
        assert_eq!(schedule.step(at(Duration::ZERO), Event::Wake), PERIODIC);
        schedule.step(at(Duration::ZERO), Event::Prepared);
        assert_eq!(
            schedule.step(at(Duration::ZERO), Event::Over(Outcome::Busy)),
            wait(5 * MINUTE)
        );
        assert_eq!(schedule.step(at(5 * MINUTE), Event::Wake), PERIODIC);
    }

    #[test]
    fn the_cooldown_of_an_earlier_run_counts_and_the_ticks_do_not_move() {
        let newest = WALL.checked_sub(4 * MINUTE);
        let mut schedule = schedule(60 * MINUTE, newest);
        assert_eq!(schedule.step(at(Duration::ZERO), Event::Wake), wait(MINUTE));
        assert_eq!(schedule.step(at(MINUTE), Event::Wake), PERIODIC);
        let next = capture(&mut schedule, MINUTE, 2 * MINUTE);
        assert_eq!(next, wait(35 * MINUTE));
    }

    #[test]
    fn a_capture_dated_in_the_future_counts_as_taken_now() {
        let mut schedule = schedule(60 * MINUTE, Some(WALL + 900 * MINUTE));
        assert_eq!(
            schedule.step(at(Duration::ZERO), Event::Wake),
            wait(5 * MINUTE)
        );
    }

    #[test]
    fn a_first_tick_that_met_a_capture_counts_from_the_end_of_it() {
        let mut schedule = schedule(72 * 60 * MINUTE, None);
        schedule.step(at(Duration::ZERO), Event::Wake);
        capture(&mut schedule, Duration::ZERO, MINUTE / 2);
        let requested = 35 * MINUTE - MINUTE / 4;
        schedule.step(at(requested), request());
        let over = requested + MINUTE / 2;
        // Owed since, and due as soon as the cooldown of the request allows.
        let cooled = requested + 5 * MINUTE;
        assert_eq!(capture(&mut schedule, requested, over), wait(cooled));
        assert_eq!(schedule.step(at(cooled), Event::Wake), PERIODIC);
        let next = capture(&mut schedule, cooled, cooled + MINUTE / 2);
        assert_eq!(next, wait(over + 30 * MINUTE));
    }

    #[test]
    fn a_tick_is_handled_at_its_very_instant() {
        let mut schedule = schedule(72 * 60 * MINUTE, None);
        schedule.step(at(Duration::ZERO), Event::Wake);
        capture(&mut schedule, Duration::ZERO, MINUTE / 2);
        let just_before = 35 * MINUTE - Duration::from_nanos(1);
        assert_eq!(
            schedule.step(at(just_before), Event::Wake),
            wait(35 * MINUTE)
        );
        assert_eq!(schedule.step(at(35 * MINUTE), Event::Wake), PERIODIC);
    }

    #[test]
    fn missed_ticks_collapse_and_the_phase_stays() {
        let mut schedule = schedule(72 * 60 * MINUTE, None);
        schedule.step(at(Duration::ZERO), Event::Wake);
        capture(&mut schedule, Duration::ZERO, MINUTE);
        // Handled first tick at 35 min; nothing was polled until 3 h.
        assert_eq!(schedule.step(at(180 * MINUTE), Event::Wake), PERIODIC);
        let next = capture(&mut schedule, 180 * MINUTE, 181 * MINUTE);
        assert_eq!(next, wait(185 * MINUTE));
    }

    #[test]
    fn millions_of_missed_ticks_cost_nothing() {
        let policy = Policy::builder()
            .capture_length(Policy::COOLDOWN_MIN)
            .cooldown(Policy::COOLDOWN_MIN)
            .interval(Policy::COOLDOWN_MIN)
            .build()
            .expect("valid");
        let window = Window::until(WALL + 72 * 60 * MINUTE, WALL)
            .expect("valid")
            .expect("open");
        let mut schedule = Schedule::new(policy, window, at(Duration::ZERO), None);
        schedule.step(at(Duration::ZERO), Event::Wake);
        let end = at(71 * 60 * MINUTE);
        schedule.step(end, Event::Over(Outcome::Saved));
        assert_eq!(
            schedule.tick.due,
            end.monotonic.saturating_add(Policy::COOLDOWN_MIN)
        );
    }
}
