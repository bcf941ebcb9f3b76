//! What must hold after a death, and what the next recorder makes of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tachograph::store::{CaptureName, EntryKind, Recovery, StagedCapture, Usage};
use tachograph::testing::{InlineOffload, ManualClock, Simulation};
use tachograph::{
    End, Error, Exhausted, Instant, Limits, Policy, PosixStore, Recorder, State, Store, Timestamp,
};
use tachograph_storage_posix::seam;

use crate::killer::{Killer, Sabotage, Scope};
use crate::made::MadeSampler;
use crate::place::Place;

/// At how many deaths in a row recording ends.
const DEATHS_MAX: usize = 3;

/// What is wrong with the next recorder, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Nothing.
    None,
    /// It is sabotaged as a life may be.
    Lives(Sabotage),
    /// It does not know of the newest capture.
    ForgetsTheNewest,
    /// It does not know of unfinished ones.
    ForgetsTheInterrupted,
    /// It finds every directory empty.
    CountsNothing,
    /// Somebody else has the directory.
    HoldsTheLock,
}

/// A store with a flaw.
struct Flawed {
    inner: PosixStore,
    flaw: Flaw,
}

impl Store for Flawed {
    fn recover(&self) -> Result<Recovery, Error> {
        let mut recovery = self.inner.recover()?;
        match self.flaw {
            Flaw::ForgetsTheNewest => recovery.newest = None,
            Flaw::ForgetsTheInterrupted => recovery.interrupted.clear(),
            _ => {}
        }
        Ok(recovery)
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        match self.flaw {
            Flaw::CountsNothing => Ok(Usage::default()),
            _ => self.inner.usage(entries_enough),
        }
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        self.inner.stage(name)
    }

    fn close(&self) {
        self.inner.close();
    }
}

/// The next recorder, and its time.
struct Next {
    recorder: Recorder,
    simulation: Simulation,
}

impl Next {
    /// Starts at `wall`, with room for so many entries and no more.
    fn start(place: &Place, flaw: Flaw, wall: SystemTime, entries_max: u64) -> Self {
        let inner = PosixStore::open(place.path()).expect("the lock is free");
        let clock = ManualClock::new(wall);
        let limits = Limits::builder().entries_max(entries_max);
        let (recorder, driver) = tachograph::builder()
            .directory("/is/not/looked/at")
            .until(Timestamp::from(wall + Duration::from_secs(3600)).to_string())
            .limits(limits.build().expect("valid"))
            .sampler(MadeSampler)
            .store(Flawed { inner, flaw })
            .build(clock.clone(), InlineOffload)
            .expect("it starts");
        let mut simulation = Simulation::new(clock);
        simulation.spawn(driver);
        simulation.settle();
        Self {
            recorder,
            simulation,
        }
    }

    fn run_until(&mut self, after: Duration) {
        self.simulation.run_until(Instant::from_origin(after));
    }

    fn end(mut self) -> State {
        let stop = self.recorder.stop();
        assert!(self.simulation.run_to_end(stop), "stop does not return");
        self.recorder.status().state
    }
}

/// Judges what a death left at `place`, and starts a new recorder there.
///
/// # Panics
///
/// If anything is not as it must be.
pub(crate) fn judge(place: &Place, flaw: Flaw) {
    place.ensure_untouched();
    place.ensure_whole();
    ensure_apart(place);

    let sabotage = match flaw {
        Flaw::Lives(sabotage) => sabotage,
        _ => Sabotage::None,
    };
    let hook = Killer::new(None, Scope::All, sabotage);
    let _installed = seam::install(Arc::new(hook));
    let _held = (flaw == Flaw::HoldsTheLock).then(|| PosixStore::open(place.path()));
    let newest = place.ours().into_iter().map(|(name, _)| name.start()).max();
    let interrupted = place.interrupted();
    let recovered = recovered(place);

    // A moment after the newest, so that the whole cooldown is still ahead.
    let moment = Duration::from_millis(1);
    let wall = newest.map_or(SystemTime::now(), |newest| newest + moment);
    let due = newest.map_or(Duration::ZERO, |_| Policy::default().cooldown() - moment);

    if interrupted.len() >= DEATHS_MAX {
        let next = Next::start(place, flaw, wall, 512);
        let leftovers = interrupted.clone();
        let state = next.recorder.status().state;
        assert_eq!(state, State::Ended(End::Interrupted { leftovers }));
        next.end();
        assert_eq!(place.names(), recovered, "more than was to be removed");
        ensure_empty(place, &interrupted);
        PosixStore::open(place.path()).expect("the lock is free again");
        return;
    }

    ensure_budget(place, flaw, wall, due, &recovered);
    let room = recovered.len() as u64 + Limits::ENTRIES_PER_CAPTURE;
    let mut next = Next::start(place, flaw, wall, room);
    if let Some(before) = due.checked_sub(Duration::from_nanos(1)) {
        next.run_until(before);
        next.simulation.settle();
        assert_eq!(place.names(), recovered, "before the cooldown was over");
        ensure_empty(place, &interrupted);
    }
    next.run_until(due);
    next.simulation.settle();
    let capture = CaptureName::new(wall + due);
    let staged = capture.entry(EntryKind::PartialProfile);
    let with_staged = sorted(recovered.iter().chain([&staged]).cloned());
    assert_eq!(place.names(), with_staged, "at the end of the cooldown");

    next.run_until(due + Policy::default().capture_length() + Duration::from_secs(1));
    assert_eq!(next.recorder.status().captures, 1);
    assert_eq!(next.end(), State::Ended(End::Stopped));
    let pair = [capture.profile(), capture.sidecar()];
    let left = recovered.into_iter().filter(|it| !interrupted.contains(it));
    assert_eq!(place.names(), sorted(left.chain(pair)), "after a capture");
    place.ensure_untouched();
    place.ensure_whole();
    PosixStore::open(place.path()).expect("the lock is free again");
}

/// The captures and the leftovers there are as far apart as the cooldown says.
fn ensure_apart(place: &Place) {
    let mut starts: Vec<_> = place.ours().iter().map(|(name, _)| name.start()).collect();
    starts.dedup();
    for pair in starts.windows(2) {
        let apart = pair[1].duration_since(pair[0]).expect("sorted by name");
        assert!(apart >= Policy::COOLDOWN_MIN, "{apart:?} apart");
    }
}

/// What stands once nothing is left that explains nothing.
fn recovered(place: &Place) -> Vec<String> {
    let ours = place.ours();
    let mut names = place.names();
    names.retain(|name| match CaptureName::parse(name) {
        None | Some((_, EntryKind::Profile | EntryKind::PartialProfile)) => true,
        Some((name, EntryKind::Sidecar)) => ours.contains(&(name, EntryKind::Profile)),
        Some((_, EntryKind::PartialSidecar)) => false,
    });
    names
}

fn ensure_empty(place: &Place, interrupted: &[String]) {
    for name in interrupted {
        assert_eq!(place.bytes(name), 0, "{name} was not emptied");
    }
}

/// With room for one entry less than a capture needs, none is taken.
fn ensure_budget(place: &Place, flaw: Flaw, wall: SystemTime, due: Duration, recovered: &[String]) {
    let found = recovered.len() as u64;
    let room = found + Limits::ENTRIES_PER_CAPTURE - 1;
    if room < Limits::ENTRIES_PER_CAPTURE {
        // No limit is that low.
        return;
    }
    let mut next = Next::start(place, flaw, wall, room);
    next.run_until(due);
    next.simulation.settle();
    let exhausted = Exhausted::Entries {
        found,
        allowed: room - Limits::ENTRIES_PER_CAPTURE,
    };
    let state = next.recorder.status().state;
    assert_eq!(state, State::Ended(End::Budget(exhausted)));
    next.end();
    assert_eq!(place.names(), recovered, "with an exhausted budget");

    let store = PosixStore::open(place.path()).expect("the lock is free");
    let usage = store.usage(u64::MAX).expect("counted");
    let bytes: u64 = recovered.iter().map(|name| place.bytes(name)).sum();
    assert_eq!((usage.entries, usage.bytes), (found, bytes));
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}
