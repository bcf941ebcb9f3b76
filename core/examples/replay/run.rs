//! One run of the real recorder on doubles, as a line of JSON describes it.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tachograph_core::testing::{
    Fault, InlineOffload, ManualClock, MemoryDirectory, MemoryStore, SamplerCall, ScriptedSampler,
    Simulation,
};
use tachograph_core::{
    Clock, End, ErrorKind, Instant, Limits, Name, Parts, Recorder, State, Window,
};

/// What was asked of a recorder and what it did. All times are milliseconds
/// from its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) name: String,
    /// The deadline.
    pub(crate) window_ms: u64,
    /// When it was asked to stop.
    pub(crate) stop_ms: Option<u64>,
    /// Which capture fails after its length, counted from 1; 0 for none.
    pub(crate) fail_nth: u64,
    pub(crate) requests: Vec<Request>,
    #[serde(default)]
    pub(crate) captures: Vec<Capture>,
    #[serde(default)]
    pub(crate) ended_ms: u64,
    #[serde(default)]
    pub(crate) failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) at_ms: u64,
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capture {
    pub(crate) at_ms: u64,
    pub(crate) end_ms: u64,
    pub(crate) reason: String,
}

/// The wall time at which every run starts; the schedule does not depend on it.
const WALL: SystemTime = SystemTime::UNIX_EPOCH;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

/// Takes from `asked` what was asked for and returns it with what our recorder
/// did, and with the directory it left.
pub(crate) fn run(asked: &Run) -> Result<(Run, MemoryDirectory), Box<dyn Error>> {
    let clock = ManualClock::new(WALL);
    let window = Window::until(WALL + Duration::from_millis(asked.window_ms), WALL)?
        .ok_or("the window is empty")?;
    let sampler = ScriptedSampler::new();
    if asked.fail_nth > 0 {
        let fault = Fault::Error(ErrorKind::Sampling);
        sampler.fault(asked.fail_nth, SamplerCall::Encode, fault);
    }
    let directory = MemoryDirectory::new();
    let mut parts = Parts::new(
        window,
        Arc::new(clock.clone()),
        Arc::new(InlineOffload),
        Arc::new(sampler),
        Box::new(MemoryStore::open(&directory)?),
    );
    // Budgets are not what a run is about.
    parts.limits = Limits::builder()
        .entries_max(16_384)
        .bytes_max(16 << 30)
        .build()?;
    for request in &asked.requests {
        parts.triggers.push(Name::new(&request.reason)?);
    }
    let (recorder, driver) = Recorder::new(parts)?;

    let mut simulation = Simulation::new(clock.clone());
    simulation.spawn(driver);
    let mut did = Run {
        captures: Vec::new(),
        ended_ms: 0,
        failed: false,
        ..asked.clone()
    };
    let mut requests = asked.requests.iter().peekable();
    let mut stop = asked.stop_ms;
    loop {
        // All that happens at this instant, before the recorder looks.
        while let Some(request) = requests.next_if(|request| at(request.at_ms) <= clock.now()) {
            recorder.request(&request.reason)?;
        }
        if stop.is_some_and(|stop| at(stop) <= clock.now()) {
            stop = None;
            drop(recorder.stop());
        }
        simulation.settle();
        let now_ms = u64::try_from(clock.now().since_origin().as_millis())?;
        if let State::Ended(end) = observe(&mut did.captures, &recorder, now_ms) {
            did.ended_ms = now_ms;
            did.failed = matches!(end, End::Failed { .. });
            return Ok((did, directory));
        }
        let next = [
            clock.next_due(),
            requests.peek().map(|request| at(request.at_ms)),
            stop.map(at),
        ];
        match next.into_iter().flatten().min() {
            Some(next) => clock.advance_to(next),
            None => return Err("the recorder sleeps for ever".into()),
        }
    }
}

/// Notes a capture that began or ended since the last look.
fn observe(captures: &mut Vec<Capture>, recorder: &Recorder, now_ms: u64) -> State {
    const RUNNING: u64 = u64::MAX;
    let state = recorder.status().state;
    let running = captures
        .last_mut()
        .filter(|capture| capture.end_ms == RUNNING);
    match (&state, running) {
        (State::Capturing { reason }, None) => captures.push(Capture {
            at_ms: now_ms,
            end_ms: RUNNING,
            reason: reason.to_string(),
        }),
        (State::Capturing { .. }, Some(_)) | (_, None) => {}
        (_, Some(running)) => running.end_ms = now_ms,
    }
    state
}
