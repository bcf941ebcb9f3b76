//! What the events of a history amount to at any moment.

use crate::history::{History, What};

/// The outside of the recorder over time. Everything is asked for after all
/// events of a moment, which is when the recorder runs.
pub(crate) struct Timeline {
    wall_ahead_ms: Steps<i64>,
    slept_ms: Steps<u64>,
    refuses_work: Steps<bool>,
    profile_bytes: Steps<u64>,
}

impl Timeline {
    pub(crate) fn new(history: &History) -> Self {
        let mut timeline = Self {
            wall_ahead_ms: Steps::new(0),
            slept_ms: Steps::new(0),
            refuses_work: Steps::new(false),
            profile_bytes: Steps::new(0),
        };
        for event in &history.events {
            let at_ms = event.at_ms;
            match event.what {
                What::StepWall { by_ms } => timeline.wall_ahead_ms.step(at_ms, |it| it + by_ms),
                What::Suspend { for_ms } => {
                    timeline.wall_ahead_ms.step(at_ms, |it| it + for_ms as i64);
                    timeline.slept_ms.step(at_ms, |it| it + for_ms);
                }
                What::RefuseWork(refuses) => timeline.refuses_work.step(at_ms, |_| refuses),
                What::ProfileBytes(bytes) => timeline.profile_bytes.step(at_ms, |_| bytes),
                _ => {}
            }
        }
        timeline
    }

    /// What the wall clock shows.
    pub(crate) fn wall_ms(&self, at_ms: u64) -> i64 {
        at_ms as i64 + self.wall_ahead_ms.at(at_ms)
    }

    /// How long it has truly been since the beginning: the monotonic clock
    /// stands still while the machine sleeps.
    pub(crate) fn true_ms(&self, at_ms: u64) -> u64 {
        at_ms + self.slept_ms.at(at_ms)
    }

    /// Whether blocking work is refused.
    pub(crate) fn refuses_work(&self, at_ms: u64) -> bool {
        self.refuses_work.at(at_ms)
    }

    /// The least size of a profile.
    pub(crate) fn profile_bytes(&self, at_ms: u64) -> u64 {
        self.profile_bytes.at(at_ms)
    }
}

/// A value that changes at moments.
struct Steps<T> {
    first: T,
    steps: Vec<(u64, T)>,
}

impl<T: Copy> Steps<T> {
    fn new(first: T) -> Self {
        Self {
            first,
            steps: Vec::new(),
        }
    }

    fn step(&mut self, at_ms: u64, to: impl FnOnce(T) -> T) {
        let value = to(self.at(u64::MAX));
        self.steps.push((at_ms, value));
    }

    fn at(&self, at_ms: u64) -> T {
        let after = self.steps.partition_point(|(step_ms, _)| *step_ms <= at_ms);
        match after.checked_sub(1) {
            Some(last) => self.steps[last].1,
            None => self.first,
        }
    }
}
