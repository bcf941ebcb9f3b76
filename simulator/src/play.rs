//! Plays a history on the real recorder.

mod inventory;
mod running;
mod starting;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_core::testing::{ManualClock, MemoryDirectory};
use tachograph_core::{Clock, Error, Instant, Recorder};

pub(crate) use self::inventory::foreign_bytes;
use self::running::Running;
use crate::history::{Event, History, Leaves, Squatted, TRIGGERS, What};
use crate::logs;
use crate::parts::{first_wall, millis, wall, wall_ms};
use crate::record::{Dropped, Life, Record};
use crate::sabotage::Sabotage;

/// How long a recorder may take to come to its end after a history is over.
const LAST_WAIT_MS: u64 = 10 * 60 * 1000;

/// Plays `history` and returns what was seen; with a sabotage, what would be
/// seen if that were true.
///
/// # Errors
///
/// If its rhythm or bounds are none.
pub fn play(history: &History, sabotage: Option<Sabotage>) -> Result<Record, Error> {
    logs::listen();
    drop(logs::take());
    history.rhythm.policy()?;
    history.bounds.limits()?;
    let mut world = World {
        history,
        sabotage,
        clock: ManualClock::new(first_wall()),
        directory: MemoryDirectory::new(),
        foreign: BTreeMap::new(),
        profile_bytes: 0,
        refuses_work: false,
        running: None,
        record: Record::default(),
    };
    let mut events = history.events.iter().enumerate().peekable();
    let mut is_over = false;
    loop {
        let next = [
            events.peek().map(|(_, event)| event.at_ms),
            world.next_due_ms(),
            (!is_over).then_some(history.length_ms),
        ];
        let Some(next_ms) = next.into_iter().flatten().min() else {
            break;
        };
        if next_ms > history.length_ms + LAST_WAIT_MS {
            break;
        }
        let next = Instant::from_origin(Duration::from_millis(next_ms));
        world.clock.advance_to(next);
        while let Some((number, event)) = events.next_if(|(_, event)| event.at_ms <= next_ms) {
            if event.at_ms <= history.length_ms {
                world.happen(number, event)?;
            }
        }
        if !is_over && next_ms >= history.length_ms {
            is_over = true;
            world.stop();
        }
        world.settle();
    }
    world.bury();
    world.take_inventory(None);
    Ok(world.record)
}

struct World<'a> {
    history: &'a History,
    sabotage: Option<Sabotage>,
    clock: ManualClock,
    directory: MemoryDirectory,
    foreign: BTreeMap<String, Option<u64>>,
    profile_bytes: u64,
    refuses_work: bool,
    running: Option<Running>,
    record: Record,
}

impl World<'_> {
    fn next_due_ms(&self) -> Option<u64> {
        let clock = self.clock.next_due();
        let pool = self.running.as_ref().and_then(|it| it.pool.next_due_ms());
        let clock = clock.map(|due| due.since_origin().as_millis() as u64);
        clock.into_iter().chain(pool).min()
    }

    /// Lets everything run that can at this moment.
    fn settle(&mut self) {
        let now_ms = millis(&self.clock);
        let Some(running) = &mut self.running else {
            return;
        };
        loop {
            running.pool.run_due();
            if let Some(runtime) = &mut running.runtime {
                runtime.settle();
            }
            running.waiters.settle();
            if running.pool.next_due_ms().is_none_or(|due| due > now_ms) {
                break;
            }
        }
        self.look();
    }

    /// Notes what can be seen of the recorder.
    fn look(&mut self) {
        let now_ms = millis(&self.clock);
        let Some(running) = &mut self.running else {
            return;
        };
        let was_free = running.life.given_back_ms.is_some();
        running.listen(now_ms);
        running.look(now_ms, &self.directory);
        if running.life.given_back_ms.is_some() && !was_free {
            self.take_inventory(Some(self.record.lives.len()));
        }
    }

    fn happen(&mut self, number: usize, event: &Event) -> Result<(), Error> {
        match &event.what {
            What::Start(start) => self.start(number, start)?,
            What::Request { reason } => self.request(reason),
            What::Task { name } => {
                if let Some(recorder) = self.recorder_of_a_runtime() {
                    let is_trigger = TRIGGERS.contains(&&**name);
                    let ran = recorder.task(name, async {}).now_or_never();
                    debug_assert!(ran.is_some());
                    self.count_asked(is_trigger);
                }
            }
            What::Stop => self.stop(),
            What::DropHandles => {
                if let Some(running) = &mut self.running
                    && running.recorder.take().is_some()
                {
                    running.life.handles_dropped_ms = Some(event.at_ms);
                }
            }
            What::DropDriver { finishes_work } => self.drop_driver(*finishes_work),
            What::Kill { leaves } => self.kill(*leaves),
            What::RefuseWork(refuses) => {
                self.refuses_work = *refuses;
                if let Some(running) = &self.running
                    && running.runtime.is_some()
                {
                    running.pool.refuse(*refuses);
                }
            }
            What::StepWall { by_ms } => {
                let stepped = wall_ms(self.clock.wall()) + by_ms;
                self.clock.set_wall(wall(stepped));
            }
            What::Suspend { for_ms } => self.clock.suspend(Duration::from_millis(*for_ms)),
            What::Put { name, bytes } => {
                self.directory.put(name, &foreign_bytes(*bytes));
                self.foreign.insert(name.clone(), Some(*bytes));
            }
            What::PutOther { name } => {
                self.directory.put_other(name);
                self.foreign.insert(name.clone(), None);
            }
            What::Squat { in_ms, entry } => {
                let start = self.clock.wall() + Duration::from_millis(*in_ms);
                let name = CaptureName::new(start).entry(match entry {
                    Squatted::PartialProfile => EntryKind::PartialProfile,
                    Squatted::Sidecar => EntryKind::Sidecar,
                    Squatted::Profile => EntryKind::Profile,
                });
                if !self.directory.names().contains(&name) {
                    self.directory.put_other(&name);
                    self.foreign.insert(name, None);
                }
            }
            What::Remove { name } => {
                if self.foreign.remove(name).is_some() {
                    self.directory.remove(name);
                }
            }
            What::Collect => self.collect(),
            What::Free { bytes } => self.directory.set_bytes_free(*bytes),
            What::ProfileBytes(bytes) => {
                self.profile_bytes = *bytes;
                if let Some(running) = &self.running {
                    running.sampler.set_profile_bytes(*bytes);
                }
            }
        }
        Ok(())
    }

    /// The recorder, while the runtime that its service runs on is there.
    fn recorder_of_a_runtime(&self) -> Option<&Recorder> {
        let running = self.running.as_ref()?;
        running.runtime.as_ref()?;
        running.recorder.as_ref()
    }

    fn request(&mut self, reason: &str) {
        let asked = match self.sabotage {
            Some(Sabotage::SwappedReason) => "another",
            _ => reason,
        };
        if let Some(recorder) = self.recorder_of_a_runtime() {
            let is_accepted = recorder.request(asked).is_ok();
            self.count_asked(is_accepted);
        }
    }

    fn count_asked(&mut self, was_asked: bool) {
        if let Some(running) = &mut self.running
            && running.life.end_lines.is_empty()
        {
            running.life.asked += u64::from(was_asked);
        }
    }

    fn stop(&mut self) {
        let now_ms = millis(&self.clock);
        let Some(running) = &mut self.running else {
            return;
        };
        let Some(recorder) = &running.recorder else {
            return;
        };
        let stopped = recorder.stop();
        let returned = Rc::new(Cell::new(None));
        running.life.stops.push((now_ms, None));
        running.returned.push(Rc::clone(&returned));
        let clock = self.clock.clone();
        let hangs = self.sabotage == Some(Sabotage::HungStop);
        running.waiters.spawn(async move {
            stopped.await;
            if !hangs {
                returned.set(Some(millis(&clock)));
            }
        });
    }

    fn drop_driver(&mut self, finishes_work: bool) {
        let now_ms = millis(&self.clock);
        let Some(running) = &mut self.running else {
            return;
        };
        let Some(runtime) = running.runtime.take() else {
            return;
        };
        if running.life.end_lines.is_empty() {
            running.life.dropped = Some(Dropped {
                at_ms: now_ms,
                finishes_work,
            });
        }
        if !finishes_work {
            running.pool.shut_down();
        }
        drop(runtime);
        running.listen(now_ms);
    }

    fn kill(&mut self, leaves: Leaves) {
        let now_ms = millis(&self.clock);
        let Some(mut running) = self.running.take() else {
            return;
        };
        if running.life.given_back_ms.is_some() {
            self.running = Some(running);
            return;
        }
        self.directory.kill_holder();
        // What the doubles still do and say, nobody sees.
        running.life.killed_ms = Some(now_ms);
        running.life.seen = running.notes.with(std::mem::take);
        running.life.status = None;
        running.recorder = None;
        running.pool.shut_down();
        drop(running.runtime.take());
        drop(logs::take());
        if let Some((name, _)) = running.life.seen.attempts.last().and_then(|it| it.staged) {
            let partial = name.entry(EntryKind::PartialProfile);
            if self.directory.read(&partial).is_some() {
                self.directory.put(&partial, b"cut");
                let more = match leaves {
                    Leaves::Profile => None,
                    Leaves::PartialSidecar => Some(name.entry(EntryKind::PartialSidecar)),
                    Leaves::Sidecar => Some(name.sidecar()),
                };
                if let Some(more) = more.filter(|more| !self.directory.names().contains(more)) {
                    self.directory.put(&more, b"{");
                }
            }
        }
        running.pull_returned();
        self.keep(running.life);
    }

    /// Puts away what is known of the latest recorder.
    fn bury(&mut self) {
        if let Some(running) = &mut self.running {
            // Whoever waits for its end may have come at this very moment.
            running.waiters.settle();
        }
        self.look();
        if let Some(mut running) = self.running.take() {
            running.life.seen = running.notes.with(std::mem::take);
            running.pull_returned();
            self.keep(running.life);
        }
    }

    fn keep(&mut self, mut life: Life) {
        if let Some(sabotage) = self.sabotage {
            sabotage.falsify(&mut life);
        }
        self.record.lives.push(life);
    }
}
