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

use std::collections::BTreeMap;
use std::convert::Infallible;

use tachograph_core::store::{CaptureName, EntryKind};

use crate::history::{Call, Event, Fault, History, How, Rhythm, Squatted, TRIGGERS, What};
use crate::parts::wall_ms;
use crate::record::{Attempt, Cut, Life};
use crate::timeline::Timeline;

/// What a recorder is to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) attempts: Vec<ExpectedAttempt>,
    /// When it is over and why, unless it is killed or dropped before.
    pub(crate) over: Option<(u64, Why)>,
    pub(crate) dropped: Dropped,
    pub(crate) captures: u64,
}

/// One capture that it is to try.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedAttempt {
    pub(crate) reason: String,
    /// When the budget is looked at.
    pub(crate) looked_ms: u64,
    /// The start in its name, by the wall clock.
    pub(crate) named_ms: i64,
    pub(crate) staged_ms: Option<u64>,
    pub(crate) sampler_asked_ms: Option<u64>,
    pub(crate) sampling_until_ms: Option<u64>,
    pub(crate) saved_ms: Option<u64>,
    pub(crate) skipped: bool,
    /// What its sidecar is to tell.
    pub(crate) told: Dropped,
    pub(crate) finished_wall_ms: i64,
}

/// Requests that lead to no capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) cooldown: u64,
    pub(crate) busy: u64,
    pub(crate) pending: u64,
}

impl Dropped {
    fn since(self, earlier: Self) -> Self {
        Self {
            cooldown: self.cooldown - earlier.cooldown,
            busy: self.busy - earlier.busy,
            pending: self.pending - earlier.pending,
        }
    }
}

/// Why a recorder is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Deadline,
    Stopped,
    Budget,
    Interrupted,
    Failed,
}

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
        matches!(what, What::DropDriver { .. } | What::Kill { .. })
            && life.cut.is_some_and(|(cut_ms, _)| cut_ms == at_ms)
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
        self.life.cut.is_some_and(|(cut_ms, _)| cut_ms <= at_ms)
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
            // Work that was handed over is done even so if the runtime does.
            if let Some((
                _,
                Cut::Dropped {
                    finishes_work: true,
                },
            )) = self.life.cut
            {
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
            self.life.cut.map(|(cut_ms, _)| cut_ms),
        ]
        .into_iter()
        .flatten()
        .filter(|at_ms| *at_ms > now_ms)
        .min()
        .unwrap_or(u64::MAX)
    }

    fn note(&mut self, note: impl FnOnce(&mut ExpectedAttempt)) {
        if let Some(attempt) = self.expected.attempts.last_mut() {
            note(attempt);
        }
    }

    /// One capture, decided on at `decided_ms`. Says when it is over and whether
    /// somebody else was profiling.
    fn attempt(&mut self, decided_ms: u64, reason: &str) -> Result<(u64, bool), Halt> {
        let failed = |at_ms| Err(Halt::Over(at_ms, Why::Failed));
        self.cooldown_until_ms = decided_ms + self.rhythm().cooldown_ms;
        let named_ms = self.timeline.wall_ms(decided_ms);
        let told = self.expected.dropped.since(self.told_until);
        let told_until = self.expected.dropped;

        let mut now_ms = self.blocking(decided_ms, |model, looked_ms| {
            model.expected.attempts.push(ExpectedAttempt {
                reason: reason.to_owned(),
                looked_ms,
                named_ms,
                told,
                ..ExpectedAttempt::default()
            });
        })?;
        let nth = self.expected.attempts.len();
        if self.fault(Call::Usage, nth as u64).is_some() {
            return failed(now_ms);
        }
        match self.life.seen.attempts.get(nth - 1) {
            Some(seen) if !self.has_room(seen) => return Err(Halt::Over(now_ms, Why::Budget)),
            _ => {}
        }

        self.stages += 1;
        now_ms = self.blocking(now_ms, |model, staged_ms| {
            model.note(|attempt| attempt.staged_ms = Some(staged_ms));
        })?;
        if self.fault(Call::Stage, self.stages).is_some()
            || self.is_squatted(named_ms, now_ms, &[Squatted::PartialProfile])
            || self.leftovers.contains(&named_ms)
        {
            return failed(now_ms);
        }
        now_ms = self.snapshot(now_ms)?;
        if self.is_stopped(now_ms) || self.has_closed(now_ms) {
            let given_up_ms = self.blocking(now_ms, |_, _| {})?;
            return Ok((given_up_ms, false));
        }

        let mut started = false;
        now_ms = self.blocking(now_ms, |model, asked_ms| {
            // The last look, where the sampler is: work may have waited long.
            if !model.is_stopped(asked_ms) && !model.has_closed(asked_ms) {
                started = true;
                model.note(|attempt| attempt.sampler_asked_ms = Some(asked_ms));
            }
        })?;
        if !started {
            let given_up_ms = self.blocking(now_ms, |_, _| {})?;
            return Ok((given_up_ms, false));
        }
        self.sessions += 1;
        match self.fault(Call::SamplerStart, self.sessions) {
            Some(How::Busy) => {
                let given_up_ms = self.blocking(now_ms, |_, _| {})?;
                self.note(|attempt| attempt.skipped = true);
                return Ok((given_up_ms, true));
            }
            Some(_) => return failed(now_ms),
            None => {}
        }
        let sampling_since_ms = now_ms;
        now_ms = self.sample(now_ms)?;
        now_ms = self.blocking(now_ms, |model, stopped_ms| {
            model.note(|attempt| attempt.sampling_until_ms = Some(stopped_ms));
        })?;
        if self.fault(Call::SamplerStop, self.sessions).is_some() {
            return failed(now_ms);
        }
        let finished_wall_ms = self.timeline.wall_ms(now_ms);
        self.note(|attempt| attempt.finished_wall_ms = finished_wall_ms);
        let samples = (now_ms - sampling_since_ms) / 10;
        now_ms = self.snapshot(now_ms)?;

        now_ms = self.blocking(now_ms, |_, _| {})?;
        if self.fault(Call::SamplerEncode, self.sessions).is_some()
            || self.profile_bytes(samples, now_ms) > self.history.bounds.profile_bytes_max
        {
            return failed(now_ms);
        }
        // A sidecar of this harness has under 1 KiB.
        debug_assert!(self.history.bounds.sidecar_bytes_max >= 1024);
        self.publishes += 1;
        let publish = self.publishes;
        let mut is_saved = false;
        now_ms = self.blocking(now_ms, |model, saved_ms| {
            let taken = [Squatted::Sidecar, Squatted::Profile];
            is_saved = model.fault(Call::Publish, publish).is_none()
                && !model.is_squatted(named_ms, saved_ms, &taken)
                && !model.is_standing(named_ms, saved_ms);
            if is_saved {
                model.standing.insert(named_ms, saved_ms);
                model.leftovers.clear();
                model.note(|attempt| attempt.saved_ms = Some(saved_ms));
            }
        })?;
        if !is_saved {
            return failed(now_ms);
        }
        self.told_until = told_until;
        self.expected.captures += 1;
        Ok((now_ms, false))
    }

    /// Samples from `since_ms`; says when that is enough.
    fn sample(&mut self, since_ms: u64) -> Result<u64, Halt> {
        let until_ms = since_ms + self.rhythm().capture_ms;
        let mut now_ms = since_ms;
        let mut looks = 0;
        loop {
            if self.is_cut(now_ms) {
                return Err(Halt::Cut);
            }
            if self.is_stopped(now_ms) || self.has_closed(now_ms) || now_ms >= until_ms {
                return Ok(now_ms);
            }
            let mut free_ms = now_ms;
            if looks > 0 {
                free_ms = self.blocking(now_ms, |_, _| {})?;
                let fault = self.fault(Call::SamplerCheck, self.sessions);
                if looks == 1 && fault.is_some() {
                    return Err(Halt::Over(free_ms, Why::Failed));
                }
            }
            looks += 1;
            // Once a second, counted from the look, not from the end of it.
            let next_ms = (now_ms + 1000).min(until_ms).min(self.deadline_ms);
            let next_ms = self.stop_ms.map_or(next_ms, |stop_ms| next_ms.min(stop_ms));
            now_ms = next_ms.max(free_ms);
        }
    }

    fn snapshot(&mut self, now_ms: u64) -> Result<u64, Halt> {
        const TIME_MAX_MS: u64 = 5000;
        self.snapshots += 1;
        let faults = self.life.start.faults.iter();
        let mut faults = faults
            .filter(|fault| fault.call == Call::Snapshot && fault.nth == self.snapshots)
            .map(|fault| fault.how);
        let takes_ms = self.life.start.snapshot_ms;
        // The sources are asked one after the other, so the first that goes
        // wrong decides.
        let (done_ms, fails) = match faults.next() {
            Some(How::Never) => (now_ms + TIME_MAX_MS, true),
            Some(_) => (now_ms, true),
            None if takes_ms > TIME_MAX_MS => (now_ms + TIME_MAX_MS, true),
            None => (now_ms + takes_ms, false),
        };
        if self.is_cut(done_ms) {
            return Err(Halt::Cut);
        }
        if fails {
            return Err(Halt::Over(done_ms, Why::Failed));
        }
        Ok(done_ms)
    }

    /// Section 5, with what was in the directory.
    fn has_room(&self, seen: &Attempt) -> bool {
        let bounds = self.history.bounds;
        let capture = bounds.profile_bytes_max + bounds.sidecar_bytes_max;
        seen.entries <= bounds.entries_max - 2
            && seen.bytes <= bounds.bytes_max - capture
            && seen.bytes_free.is_none_or(|free| free >= capture)
    }

    /// The size of the scripted sampler's profile.
    fn profile_bytes(&self, samples: u64, at_ms: u64) -> u64 {
        let line = format!("{samples} samples\n").len() as u64;
        line.max(self.timeline.profile_bytes(at_ms))
    }

    /// Whether somebody has made a directory under one of the names of the
    /// capture that started at `named_ms`.
    fn is_squatted(&self, named_ms: i64, at_ms: u64, entries: &[Squatted]) -> bool {
        let mut wall_ms = 0_i64;
        let mut last_ms = 0;
        self.events_until(at_ms).any(|event| {
            wall_ms += (event.at_ms - last_ms) as i64;
            last_ms = event.at_ms;
            match event.what {
                What::StepWall { by_ms } => wall_ms += by_ms,
                What::Suspend { for_ms } => wall_ms += for_ms as i64,
                What::Squat { in_ms, entry } => {
                    return entries.contains(&entry) && wall_ms + in_ms as i64 == named_ms;
                }
                _ => {}
            }
            false
        })
    }

    /// Whether a capture with this start stands there already.
    fn is_standing(&self, named_ms: i64, at_ms: u64) -> bool {
        self.standing.get(&named_ms).is_some_and(|&since_ms| {
            !self
                .events_until(at_ms)
                .any(|event| event.at_ms > since_ms && matches!(event.what, What::Collect))
        })
    }

    fn events_until(&self, at_ms: u64) -> impl Iterator<Item = &'a Event> {
        let events = self.history.events.iter();
        events.take_while(move |event| event.at_ms <= at_ms)
    }
}
