//! Plays a history on the real recorder.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tachograph_core::store::EntryKind;
use tachograph_core::testing::{
    FaultySnapshot, FaultyStore, ManualClock, MemoryDirectory, MemoryStore, SamplerCall,
    ScriptedSampler, Simulation, StoreCall,
};
use tachograph_core::{
    Clock, Error, ErrorKind, Instant, Name, Parts, Recorder, Sampler, SnapshotSource, State, Store,
    Window,
};

use crate::history::{Call, Event, History, How, Leaves, Squatted, Start, TRIGGERS, What};
use crate::logs::{self, Line};
use crate::parts::{
    Notes, ProbedSampler, ProbedStore, SlowSnapshot, first_wall, millis, moment, wall, wall_ms,
};
use crate::pool::Pool;
use crate::record::{Cut, EndLine, Inventory, Life, Record, Refused, Seen};
use crate::sabotage::{InventingSampler, Sabotage, SabotagedStore};

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

/// A recorder and those who deal with it.
struct Running {
    recorder: Option<Recorder>,
    /// Runs the driver; gone when that was dropped.
    runtime: Option<Simulation>,
    /// Runs those who wait for a stop.
    waiters: Simulation,
    returned: Vec<Rc<Cell<Option<u64>>>>,
    pool: Pool,
    sampler: ScriptedSampler,
    notes: Notes,
    /// All of it but what the probes have seen.
    life: Life,
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
                let name = tachograph_core::store::CaptureName::new(start).entry(match entry {
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

    fn start(&mut self, number: usize, start: &Start) -> Result<(), Error> {
        // An event of this very moment may have freed the directory.
        self.look();
        let started = moment(&self.clock);
        let mut refused = Refused {
            started,
            until_ms: start.until_ms,
            was_held: self.directory.is_held(),
            error: None,
        };
        let mut parts = match self.parts(start) {
            Ok(Some(parts)) => parts,
            outcome => {
                refused.error = outcome.err().map(|error| error.kind());
                if let Some(sabotage) = self.sabotage {
                    sabotage.falsify_refused(&mut refused);
                }
                self.record.refused.push(refused);
                return Ok(());
            }
        };
        self.bury();
        parts.0.policy = self.history.rhythm.policy()?;
        parts.0.limits = self.history.bounds.limits()?;
        for name in TRIGGERS {
            parts.0.triggers.push(Name::new(name)?);
        }
        if let Some(sabotage) = self.sabotage {
            parts.0.policy = sabotage.policy(parts.0.policy);
        }
        let (parts, pool, sampler, notes) = parts;
        let (recorder, driver) = Recorder::new(parts)?;
        let runtime = Simulation::new(self.clock.clone());
        runtime.spawn(driver);
        self.running = Some(Running {
            recorder: Some(recorder),
            runtime: Some(runtime),
            waiters: Simulation::new(self.clock.clone()),
            returned: Vec::new(),
            pool,
            sampler,
            notes,
            life: Life {
                event: number,
                start: start.clone(),
                started,
                seen: Seen::default(),
                asked: 0,
                stops: Vec::new(),
                handles_dropped_ms: None,
                cut: None,
                end_lines: Vec::new(),
                warnings: Vec::new(),
                given_back_ms: None,
                sampled_idly: false,
                ends: Vec::new(),
                status: None,
            },
        });
        Ok(())
    }

    /// What a recorder is made of, if it may start now.
    fn parts(&self, start: &Start) -> Result<Option<(Parts, Pool, ScriptedSampler, Notes)>, Error> {
        let Some(window) = Window::until(wall(start.until_ms), self.clock.wall())? else {
            return Ok(None);
        };
        let store = MemoryStore::open(&self.directory)?;
        let notes = Notes::new(self.clock.clone());
        let pool = Pool::new(self.clock.clone(), start.lag_ms);
        pool.refuse(self.refuses_work);
        let sampler = scripted_sampler(start);
        sampler.set_profile_bytes(self.profile_bytes);
        let mut parts = Parts::new(
            window,
            Arc::new(self.clock.clone()),
            Arc::new(pool.clone()),
            self.probed_sampler(&sampler, &notes),
            self.probed_store(faulty_store(store, start), &notes),
        );
        parts.snapshot_sources = snapshot_sources(start, &self.clock);
        Ok(Some((parts, pool, sampler, notes)))
    }

    fn probed_store(&self, store: impl Store + 'static, notes: &Notes) -> Box<dyn Store> {
        let store = Arc::new(store);
        if self.sabotage == Some(Sabotage::KeptLock) {
            // Its drop would unlock the directory too.
            std::mem::forget(Arc::clone(&store));
        }
        let inner: Box<dyn Store> = match self.sabotage {
            None => Box::new(store),
            Some(sabotage) => Box::new(SabotagedStore {
                inner: store,
                directory: self.directory.clone(),
                sabotage,
            }),
        };
        Box::new(ProbedStore {
            inner,
            directory: self.directory.clone(),
            notes: notes.clone(),
        })
    }

    fn probed_sampler(&self, sampler: &ScriptedSampler, notes: &Notes) -> Arc<dyn Sampler> {
        let probed = ProbedSampler {
            inner: sampler.clone(),
            notes: notes.clone(),
        };
        match self.sabotage {
            Some(Sabotage::InventedSample) => Arc::new(InventingSampler(probed)),
            _ => Arc::new(probed),
        }
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
            running.life.cut = Some((now_ms, Cut::Dropped { finishes_work }));
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
        running.life.cut = Some((now_ms, Cut::Killed));
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

    fn collect(&mut self) {
        let running = self.running.as_ref().map(|it| it.notes.clone());
        let directory = self.directory.clone();
        let collect = |seen: &mut Seen| {
            for attempt in &mut seen.attempts {
                if let Some((_, published)) = &attempt.saved
                    && !attempt.collected
                {
                    attempt.collected = true;
                    directory.remove(&published.name.profile());
                    directory.remove(&published.name.sidecar());
                }
            }
        };
        for life in &mut self.record.lives {
            collect(&mut life.seen);
        }
        if let Some(notes) = running {
            notes.with(collect);
        }
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

    fn take_inventory(&mut self, life: Option<usize>) {
        let names = self.directory.names().into_iter();
        let entries = names.map(|name| {
            let bytes = self.directory.read(&name);
            (name, bytes)
        });
        let mut saved = Vec::new();
        let mut add = |seen: &Seen| {
            let standing = seen.attempts.iter().filter(|attempt| !attempt.collected);
            saved.extend(
                standing.filter_map(|attempt| Some(Arc::clone(&attempt.saved.as_ref()?.1))),
            );
        };
        self.record.lives.iter().for_each(|life| add(&life.seen));
        if let Some(running) = &self.running {
            running.notes.with(|seen| add(seen));
        }
        self.record.inventories.push(Inventory {
            at_ms: millis(&self.clock),
            life,
            entries: entries.collect(),
            foreign: self.foreign.clone(),
            saved,
        });
    }
}

impl Running {
    /// Notes what was logged.
    fn listen(&mut self, now_ms: u64) {
        for line in logs::take() {
            let Line {
                warns,
                message,
                reason,
                why,
            } = line;
            match &*message {
                "recording ended" => self.life.end_lines.push(EndLine {
                    at_ms: now_ms,
                    warns,
                    why: why.unwrap_or_default(),
                }),
                "capture started" => self.notes.with(|seen| {
                    if let Some(attempt) = seen.attempts.last_mut() {
                        attempt.reason = reason;
                    }
                }),
                "capture skipped" => self.notes.with(|seen| {
                    if let Some(attempt) = seen.attempts.last_mut() {
                        attempt.skipped = true;
                    }
                }),
                _ if warns => self.life.warnings.push(message),
                _ => {}
            }
        }
    }

    /// Notes what can be seen from outside.
    fn look(&mut self, now_ms: u64, directory: &MemoryDirectory) {
        let status = self.recorder.as_ref().map(Recorder::status);
        if self.life.given_back_ms.is_none() && !directory.is_held() {
            self.life.given_back_ms = Some(now_ms);
        }
        let is_waiting = status
            .as_ref()
            .is_some_and(|status| matches!(status.state, State::Waiting { .. }));
        if (is_waiting && self.life.cut.is_none()) || self.life.given_back_ms.is_some() {
            self.life.sampled_idly |= self.sampler.is_running();
        }
        if let Some(status) = &status
            && let State::Ended(end) = &status.state
            && self.life.ends.last() != Some(end)
        {
            self.life.ends.push(end.clone());
        }
        self.life.status = status;
    }

    fn pull_returned(&mut self) {
        for (stop, returned) in self.life.stops.iter_mut().zip(&self.returned) {
            stop.1 = returned.get();
        }
    }
}

/// What somebody else's file holds.
pub(crate) fn foreign_bytes(bytes: u64) -> Vec<u8> {
    vec![b'f'; bytes as usize]
}

fn faulty_store(store: MemoryStore, start: &Start) -> FaultyStore<MemoryStore> {
    let faults = start.faults.iter().filter_map(|fault| {
        let call = match fault.call {
            Call::Recover => StoreCall::Recover,
            Call::Usage => StoreCall::Usage,
            Call::Stage => StoreCall::Stage,
            Call::Publish => StoreCall::Publish,
            Call::Close => StoreCall::Close,
            _ => return None,
        };
        let how = fault.how.or_error(ErrorKind::Storage);
        Some((call, fault.nth, how))
    });
    FaultyStore::new(store, faults)
}

fn scripted_sampler(start: &Start) -> ScriptedSampler {
    let sampler = ScriptedSampler::new();
    for fault in &start.faults {
        let call = match fault.call {
            Call::SamplerStart => SamplerCall::Start,
            Call::SamplerCheck => SamplerCall::Check,
            Call::SamplerStop => SamplerCall::Stop,
            Call::SamplerEncode => SamplerCall::Encode,
            _ => continue,
        };
        sampler.fault(fault.nth, call, fault.how.or_error(ErrorKind::Sampling));
    }
    sampler
}

fn snapshot_sources(start: &Start, clock: &ManualClock) -> Vec<Arc<dyn SnapshotSource>> {
    let mut sources: Vec<Arc<dyn SnapshotSource>> = Vec::new();
    for fault in start.faults.iter().filter(|it| it.call == Call::Snapshot) {
        let how = match fault.how {
            How::Never => None,
            how => Some(how.or_error(ErrorKind::Snapshot)),
        };
        sources.push(Arc::new(FaultySnapshot::new(fault.nth, how)));
    }
    if start.snapshot_ms > 0 {
        sources.push(Arc::new(SlowSnapshot {
            clock: clock.clone(),
            takes: Duration::from_millis(start.snapshot_ms),
        }));
    }
    sources
}
