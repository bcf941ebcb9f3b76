//! A recorder on doubles, as most tests want it.

#![allow(dead_code, reason = "not every test program needs all of it")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tachograph_core::testing::{
    InlineOffload, ManualClock, MemoryDirectory, MemoryStore, ScriptedSampler, Simulation,
};
use tachograph_core::{Driver, End, Instant, Name, Offload, Parts, Recorder, State, Store, Window};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// 2026-11-30T00:00:00Z.
pub(crate) fn wall() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800)
}

pub(crate) fn at(elapsed: Duration) -> Instant {
    Instant::from_origin(elapsed)
}

pub(crate) struct Bench {
    pub(crate) clock: ManualClock,
    pub(crate) directory: MemoryDirectory,
    pub(crate) sampler: ScriptedSampler,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            clock: ManualClock::new(wall()),
            directory: MemoryDirectory::new(),
            sampler: ScriptedSampler::new(),
        }
    }

    pub(crate) fn store(&self) -> MemoryStore {
        MemoryStore::open(&self.directory).expect("the directory is free")
    }

    /// The parts of a recorder with a window of two hours from now.
    pub(crate) fn parts_on(
        &self,
        store: impl Store + 'static,
        offload: impl Offload + 'static,
    ) -> Parts {
        use tachograph_core::Clock;
        let now = self.clock.wall();
        let window = Window::until(now + 120 * MINUTE, now)
            .expect("within 72 h")
            .expect("ahead");
        let mut parts = Parts::new(
            window,
            Arc::new(self.clock.clone()),
            Arc::new(offload),
            Arc::new(self.sampler.clone()),
            Box::new(store),
        );
        parts.triggers = vec![Name::new("compaction").expect("valid")];
        parts
    }

    pub(crate) fn parts(&self) -> Parts {
        self.parts_on(self.store(), InlineOffload)
    }

    /// Runs a recorder of `parts` from now on.
    pub(crate) fn start(&self, parts: Parts) -> (Recorder, Simulation) {
        let (recorder, driver) = new(parts);
        let mut simulation = Simulation::new(self.clock.clone());
        simulation.spawn(driver);
        simulation.settle();
        (recorder, simulation)
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        let captures = self.directory.captures();
        captures.into_iter().map(|(_, it)| it.reason).collect()
    }
}

pub(crate) fn new(parts: Parts) -> (Recorder, Driver) {
    Recorder::new(parts).expect("the parts fit together")
}

/// Why a recorder ended.
pub(crate) fn end(recorder: &Recorder) -> End {
    match recorder.status().state {
        State::Ended(end) => end,
        state => panic!("still {state:?}"),
    }
}
