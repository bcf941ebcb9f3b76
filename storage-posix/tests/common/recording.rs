//! A recorder over the private directory, whose time is simulated.

#![allow(dead_code, reason = "no test needs all of it")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tachograph_core::testing::{InlineOffload, ManualClock, ScriptedSampler, Simulation};
use tachograph_core::{Clock as _, End, Limits, Parts, Recorder, State, Store, Window};

/// When recorders start, unless a test says otherwise.
pub(crate) fn some_day() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_023_940)
}

pub(crate) struct Recording {
    pub(crate) recorder: Recorder,
    pub(crate) clock: ManualClock,
    pub(crate) sampler: ScriptedSampler,
    simulation: Simulation,
}

impl Recording {
    /// Starts at `wall`, with an hour to go, and looks at what stands there.
    pub(crate) fn start(store: impl Store + 'static, wall: SystemTime) -> Self {
        Self::start_within(store, wall, Limits::default())
    }

    pub(crate) fn start_within(
        store: impl Store + 'static,
        wall: SystemTime,
        limits: Limits,
    ) -> Self {
        let clock = ManualClock::new(wall);
        let sampler = ScriptedSampler::new();
        let window = Window::until(wall + Duration::from_secs(3600), wall);
        let mut parts = Parts::new(
            window
                .expect("an hour is allowed")
                .expect("an hour is left"),
            Arc::new(clock.clone()),
            Arc::new(InlineOffload),
            Arc::new(sampler.clone()),
            Box::new(store),
        );
        parts.limits = limits;
        let (recorder, driver) = Recorder::new(parts).expect("the parts fit");
        let mut simulation = Simulation::new(clock.clone());
        simulation.spawn(driver);
        simulation.settle();
        Self {
            recorder,
            clock,
            sampler,
            simulation,
        }
    }

    /// Whether the first capture has begun: its partial stands there.
    pub(crate) fn is_sampling(&self) -> bool {
        self.sampler.is_running()
    }

    /// Lets a minute pass, which is longer than a capture takes.
    pub(crate) fn a_minute_passes(&mut self) {
        let until = self.clock.now().saturating_add(Duration::from_secs(60));
        self.simulation.run_until(until);
        self.simulation.settle();
    }

    /// How many captures were saved.
    pub(crate) fn saved(&self) -> u64 {
        self.recorder.status().captures
    }

    /// Why recording is over, if it is.
    pub(crate) fn end(&self) -> Option<End> {
        match self.recorder.status().state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// What went wrong.
    pub(crate) fn failure(&self) -> String {
        match self.end() {
            Some(End::Failed { why }) => why,
            other => panic!("not a failure: {other:?}"),
        }
    }

    /// Stops, and returns once the directory is free.
    pub(crate) fn stop(mut self) -> End {
        let stopped = self.recorder.stop();
        assert!(self.simulation.run_to_end(stopped), "stop never returns");
        self.end().expect("it has ended")
    }
}
