//! What a recorder is to do, worked out from the specification.
//!
//! Written from the rules and the recorded runs of the reference alone, and in
//! another way than the recorder: where that is told step by step what
//! happened, this knows beforehand what will, and reckons from one occasion to
//! the next. The two share no code and should share no mistake.
//!
//! What a recorder finds is given: the files at its start, and what stands in
//! the directory each time it looks.
//!
//! # What the rules leave open
//!
//! - The wall clock is looked at whenever there is something to do: a tick, an
//!   owed capture, a request, the end of a capture, right before the sampler
//!   starts, and once a second of sampling.
//! - A capture that is overtaken by a stop or the deadline before its sampler
//!   has started is given up.
//! - Once the deadline was seen, it has passed, whatever the wall clock shows
//!   later.

mod capture;
mod expected;

use std::collections::BTreeMap;
use std::convert::Infallible;

use tachograph_core::store::{CaptureName, EntryKind};

pub(crate) use self::expected::{Dropped, Expected, ExpectedAttempt, Why};
use crate::history::{Call, Fault, History, How, Rhythm, TRIGGERS, What};
use crate::parts::wall_ms;
use crate::record::Life;
use crate::timeline::Timeline;

/// Works out what the recorder of `life` is to do.
pub(crate) fn expect(history: &History, timeline: &Timeline, life: &Life) -> Expected {
    let stops = life.stops.iter().map(|(asked_ms, _)| *asked_ms);
    let mut model = Model {
        history,
        timeline,
        life,
        stop_ms: stops.chain(life.handles_dropped_ms).min(),
        deadline_ms: life.started.at_ms
            + u64::try_from(life.start.until_ms - life.started.wall_ms).unwrap_or(0),
        requests: requests(history, life),
        arrived: 0,
        waiting: None,
        deadline_seen: false,
        owed: true,
        first_tick: true,
        tick_ms: life.started.at_ms + history.rhythm.interval_ms + history.rhythm.cooldown_ms,
        cooldown_until_ms: 0,
        told_until: Dropped::default(),
        sessions: 0,
        snapshots: 0,
        stages: 0,
        publishes: 0,
        standing: BTreeMap::new(),
        leftovers: Vec::new(),
        expected: Expected::default(),
    };
    let Err(halt) = model.record();
    match halt {
        Halt::Cut => model.arrive(u64::MAX),
        Halt::Over(at_ms, why) => {
            model.arrive(at_ms);
            model.expected.over = Some((at_ms, why));
        }
    }
    model.expected
}

/// What is asked of the recorder: after its start, and while its service is
/// there to ask.
fn requests<'a>(history: &'a History, life: &Life) -> Vec<(u64, &'a str)> {
    let is_cut = |at_ms: u64, what: &What| {
        matches!(what, What::DropDriver { .. } | What::Kill { .. }) && life.cut_ms() == Some(at_ms)
    };
    history.events[life.event + 1..]
        .iter()
        .take_while(|event| !is_cut(event.at_ms, &event.what))
        .filter(|event| event.at_ms <= history.length_ms)
        .filter_map(|event| Some((event.at_ms, request(&event.what)?)))
        .collect()
}

/// The reason of what asks for a capture.
fn request(what: &What) -> Option<&str> {
    match what {
        What::Request { reason } if is_name(reason) && reason != "periodic" => Some(reason),
        What::Task { name } if TRIGGERS.contains(&&**name) => Some(name),
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Why there is no more to work out.
enum Halt {
    /// The driver is gone.
    Cut,
    Over(u64, Why),
}

struct Model<'a> {
    history: &'a History,
    timeline: &'a Timeline,
    life: &'a Life,
    stop_ms: Option<u64>,
    deadline_ms: u64,
    requests: Vec<(u64, &'a str)>,
    /// How many of them have come.
    arrived: usize,
    waiting: Option<&'a str>,
    deadline_seen: bool,
    owed: bool,
    first_tick: bool,
    tick_ms: u64,
    cooldown_until_ms: u64,
    /// What the sidecars so far have told.
    told_until: Dropped,
    sessions: u64,
    snapshots: u64,
    stages: u64,
    publishes: u64,
    /// The starts of the captures that stand in the directory, and since when.
    standing: BTreeMap<i64, u64>,
    /// The starts of those that a death cut short, until one is saved.
    leftovers: Vec<i64>,
    expected: Expected,
}

impl<'a> Model<'a> {
    fn rhythm(&self) -> Rhythm {
        self.history.rhythm
    }

    /// Whether the driver is gone before it could do something at `at_ms`.
    fn is_cut(&self, at_ms: u64) -> bool {
        self.life.cut_ms().is_some_and(|cut_ms| cut_ms <= at_ms)
    }

    fn fault(&self, call: Call, nth: u64) -> Option<How> {
        let faults = self.life.start.faults.iter();
        let mut found = faults.filter(|fault: &&Fault| fault.call == call && fault.nth == nth);
        // Of two for the same call the later one was set last.
        found.next_back().map(|fault| fault.how)
    }

    /// Hands blocking work over at `at_ms`; `saw` is told when it is done. Says
    /// when the driver goes on.
    fn blocking(&mut self, at_ms: u64, saw: impl FnOnce(&mut Self, u64)) -> Result<u64, Halt> {
        if self.is_cut(at_ms) {
            return Err(Halt::Cut);
        }
        if self.timeline.refuses_work(at_ms) {
            return Err(Halt::Over(at_ms, Why::Failed));
        }
        let done_ms = at_ms + self.life.start.lag_ms;
        if self.is_cut(done_ms) {
            // Work that was handed over is done even so if the runtime does,
            // and the process lives.
            let finishes_work = self.life.dropped.is_some_and(|it| it.finishes_work);
            let lives = self.life.killed_ms.is_none_or(|it| it > done_ms);
            if finishes_work && lives {
                saw(self, done_ms);
            }
            return Err(Halt::Cut);
        }
        saw(self, done_ms);
        Ok(done_ms)
    }

    fn is_stopped(&self, at_ms: u64) -> bool {
        self.stop_ms.is_some_and(|stop_ms| stop_ms <= at_ms)
    }

    /// Looks at both clocks.
    fn has_closed(&mut self, at_ms: u64) -> bool {
        self.deadline_seen |=
            at_ms >= self.deadline_ms || self.timeline.wall_ms(at_ms) >= self.life.start.until_ms;
        self.deadline_seen
    }

    /// Rule 5: one may wait, further ones are dropped.
    fn arrive(&mut self, at_ms: u64) {
        while let Some(&(came_ms, reason)) = self.requests.get(self.arrived)
            && came_ms <= at_ms
        {
            self.arrived += 1;
            if self.waiting.is_some() {
                self.expected.dropped.pending += 1;
            } else {
                self.waiting = Some(reason);
            }
        }
    }

    fn record(&mut self) -> Result<Infallible, Halt> {
        let started_ms = self.life.started.at_ms;
        let recovered_ms = self.blocking(started_ms, |_, _| {})?;
        if self.fault(Call::Recover, 1).is_some() {
            return Err(Halt::Over(recovered_ms, Why::Failed));
        }
        let found = self.life.seen.found.iter().flatten();
        let found: Vec<_> = found.filter_map(|name| CaptureName::parse(name)).collect();
        let deaths = found
            .iter()
            .filter(|(_, kind)| *kind == EntryKind::PartialProfile);
        if deaths.count() >= 3 {
            return Err(Halt::Over(recovered_ms, Why::Interrupted));
        }
        let newest = found.iter().map(|(name, _)| wall_ms(name.start())).max();
        for &(name, kind) in &found {
            let named_ms = wall_ms(name.start());
            match kind {
                EntryKind::Profile => {
                    self.standing.insert(named_ms, recovered_ms);
                }
                EntryKind::PartialProfile => self.leftovers.push(named_ms),
                EntryKind::Sidecar | EntryKind::PartialSidecar => {}
            }
        }
        self.cooldown_until_ms = started_ms;
        if let Some(newest_ms) = newest {
            let age_ms = u64::try_from(self.life.started.wall_ms - newest_ms).unwrap_or(0);
            self.cooldown_until_ms += self.rhythm().cooldown_ms.saturating_sub(age_ms);
        }

        let mut now_ms = recovered_ms;
        let mut busy_since_ms = None;
        loop {
            if self.is_cut(now_ms) {
                return Err(Halt::Cut);
            }
            self.arrive(now_ms);
            // Rule 9: stop or deadline first, then tick, then the owed one,
            // then a request.
            if self.is_stopped(now_ms) {
                return Err(Halt::Over(now_ms, Why::Stopped));
            }
            if self.has_closed(now_ms) {
                return Err(Halt::Over(now_ms, Why::Deadline));
            }
            self.tick(now_ms, busy_since_ms.take());
            let is_cool = now_ms >= self.cooldown_until_ms;
            if self.owed && is_cool {
                self.owed = false;
                busy_since_ms = Some(now_ms);
                let (over_ms, was_busy) = self.attempt(now_ms, "periodic")?;
                self.owed |= was_busy;
                now_ms = over_ms;
            } else if let Some(reason) = self.waiting.take() {
                if is_cool {
                    busy_since_ms = Some(now_ms);
                    let (over_ms, was_busy) = self.attempt(now_ms, reason)?;
                    self.expected.dropped.busy += u64::from(was_busy);
                    now_ms = over_ms;
                } else {
                    self.expected.dropped.cooldown += 1;
                }
            } else {
                now_ms = self.next_occasion(now_ms);
            }
        }
    }

    /// Rules 2 and 6. `busy_since_ms`: a capture has run from then until now.
    fn tick(&mut self, now_ms: u64, busy_since_ms: Option<u64>) {
        if now_ms < self.tick_ms {
            return;
        }
        self.owed = true;
        let mut handled_ms = self.tick_ms;
        if std::mem::take(&mut self.first_tick) {
            // Also one that came due while the leftovers were put away: nothing
            // was running then.
            if busy_since_ms.is_some() {
                handled_ms = now_ms;
            }
        }
        while self.tick_ms <= now_ms {
            handled_ms += self.rhythm().interval_ms;
            self.tick_ms = handled_ms;
        }
    }

    fn next_occasion(&self, now_ms: u64) -> u64 {
        let owed = self.owed.then_some(self.cooldown_until_ms);
        let request = self.requests.get(self.arrived).map(|(came_ms, _)| *came_ms);
        [
            Some(self.tick_ms),
            Some(self.deadline_ms),
            owed,
            request,
            self.stop_ms,
            self.life.cut_ms(),
        ]
        .into_iter()
        .flatten()
        .filter(|at_ms| *at_ms > now_ms)
        .min()
        .unwrap_or(u64::MAX)
    }
}
