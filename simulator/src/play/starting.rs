//! How a recorder is started, and of what it is made.

use std::sync::Arc;
use std::time::Duration;

use tachograph_core::testing::{
    FaultySnapshot, FaultyStore, ManualClock, MemoryStore, SamplerCall, ScriptedSampler,
    Simulation, StoreCall,
};
use tachograph_core::{
    Clock, Error, ErrorKind, Name, Parts, Recorder, Sampler, SnapshotSource, Store, Window,
};

use super::World;
use super::running::Running;
use crate::history::{Call, How, Start, TRIGGERS};
use crate::parts::{Notes, ProbedClock, ProbedSampler, ProbedStore, SlowSnapshot, moment, wall};
use crate::pool::Pool;
use crate::record::{Life, Refused};
use crate::sabotage::{InventingSampler, Sabotage, SabotagedStore};

/// What a recorder is made of, and what is kept to deal with it.
struct Made {
    parts: Parts,
    pool: Pool,
    sampler: ScriptedSampler,
    notes: Notes,
}

impl World<'_> {
    pub(super) fn start(&mut self, number: usize, start: &Start) -> Result<(), Error> {
        // An event of this very moment may have freed the directory.
        self.look();
        let started = moment(&self.clock);
        let mut refused = Refused {
            started,
            until_ms: start.until_ms,
            was_held: self.directory.is_held(),
            error: None,
        };
        let made = match self.make(start) {
            Ok(Some(made)) => made,
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
        let (recorder, driver) = Recorder::new(made.parts)?;
        let runtime = Simulation::new(self.clock.clone());
        runtime.spawn(driver);
        self.running = Some(Running {
            recorder: Some(recorder),
            runtime: Some(runtime),
            waiters: Simulation::new(self.clock.clone()),
            returned: Vec::new(),
            pool: made.pool,
            sampler: made.sampler,
            notes: made.notes,
            life: Life::new(number, start.clone(), started),
        });
        Ok(())
    }

    /// What a recorder is made of, if it may start now.
    fn make(&self, start: &Start) -> Result<Option<Made>, Error> {
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
            Arc::new(ProbedClock::new(self.clock.clone())),
            Arc::new(pool.clone()),
            self.probed_sampler(&sampler, &notes),
            self.probed_store(faulty_store(store, start), &notes),
        );
        parts.snapshot_sources = snapshot_sources(start, &self.clock);
        let policy = self.history.rhythm.policy()?;
        parts.policy = match self.sabotage {
            Some(sabotage) => sabotage.policy(policy),
            None => policy,
        };
        parts.limits = self.history.bounds.limits()?;
        for name in TRIGGERS {
            parts.triggers.push(Name::new(name)?);
        }
        Ok(Some(Made {
            parts,
            pool,
            sampler,
            notes,
        }))
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
