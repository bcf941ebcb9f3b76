//! What a capture is to do, and how long that takes.

use super::expected::{ExpectedAttempt, Why};
use super::{Halt, Model};
use crate::history::{Call, Event, How, Squatted, What};
use crate::record::Attempt;

impl<'a> Model<'a> {
    fn note(&mut self, note: impl FnOnce(&mut ExpectedAttempt)) {
        if let Some(attempt) = self.expected.attempts.last_mut() {
            note(attempt);
        }
    }

    /// One capture, decided on at `decided_ms`. Says when it is over and whether
    /// somebody else was profiling.
    pub(super) fn attempt(&mut self, decided_ms: u64, reason: &str) -> Result<(u64, bool), Halt> {
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
