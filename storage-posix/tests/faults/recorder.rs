//! A recorder whose store meets a fault ends with one warning, and the service
//! goes on.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;
use tachograph_core::testing::{InlineOffload, ManualClock, ScriptedSampler, Simulation};
use tachograph_core::{Clock as _, End, Instant, Parts, Recorder, State, Window};
use tachograph_storage_posix::PosixStore;
use tachograph_storage_posix::seam::{self, Operation};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::faulty::{Fault, Faulty, Seen, System};
use crate::judgement::{Judgement, ensure, judge_later, judge_rest};
use crate::script::{Place, Start};
use crate::{ERRORS, ways};

const HOUR: Duration = Duration::from_secs(3600);

/// Keeps what is said in warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("memory");
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tachograph"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::WARN {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().expect("unpoisoned").push(line.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// How a quarter of an hour of service went.
struct Quarter {
    state: State,
    seen: Vec<Seen>,
    /// How many warnings said that recording is over, and the last of them.
    warnings: usize,
    warning: String,
    /// How many minutes the service served.
    served: u32,
    has_stopped: bool,
}

fn serve(place: &Place, hook: &Arc<Faulty>) -> Quarter {
    let wall = SystemTime::UNIX_EPOCH + HOUR;
    let clock = ManualClock::new(wall);
    let window = Window::until(wall + 2 * HOUR, wall).expect("valid");
    let store = PosixStore::open(&place.path).expect("it can be opened");
    let (recorder, driver) = Recorder::new(Parts::new(
        window.expect("open"),
        Arc::new(clock.clone()),
        Arc::new(InlineOffload),
        Arc::new(ScriptedSampler::new()),
        Box::new(store),
    ))
    .expect("valid");

    let warnings = Warnings::default();
    let served = Rc::new(Cell::new(0));
    let has_stopped = tracing::subscriber::with_default(warnings.clone(), || {
        let _installed = seam::install(hook.clone());
        hook.begin("record");
        let mut simulation = Simulation::new(clock.clone());
        simulation.spawn(driver);
        simulation.spawn({
            let (served, recorder) = (Rc::clone(&served), recorder.clone());
            async move {
                for minute in 1..=15 {
                    let until = Instant::from_origin(Duration::from_secs(60 * minute));
                    clock.sleep_until(until).await;
                    recorder.request("minute").expect("a good reason");
                    recorder
                        .task("serving", async { served.set(served.get() + 1) })
                        .await;
                }
            }
        });
        simulation.run_until(Instant::from_origin(Duration::from_secs(901)));
        simulation.settle();
        simulation.run_to_end(recorder.stop()) && recorder.stop().now_or_never().is_some()
    });
    let mut warnings = std::mem::take(&mut *warnings.0.lock().expect("unpoisoned"));
    warnings.retain(|warning| warning.contains("recording ended"));
    Quarter {
        state: recorder.status().state,
        seen: hook.seen(),
        warnings: warnings.len(),
        warning: warnings.pop().unwrap_or_default(),
        served: served.get(),
        has_stopped,
    }
}

/// One fault in each quarter.
pub(crate) fn faults() -> Vec<Judgement> {
    let mut judged = Vec::new();
    let mut failed = 0;
    let place = Place::new(Start::Leftovers);
    let calls = serve(&place, &Faulty::new(System::Ordinary, [])).seen;
    // As far as the first capture: from then on all repeats itself.
    let mut created = (0..calls.len()).filter(|&at| calls[at].operation == Operation::Create);
    let second = created.nth(2).expect("a second capture");
    for (at, seen) in calls.iter().enumerate().take(second) {
        for errno in ERRORS {
            for how in ways(seen, System::Ordinary, errno) {
                let fault = Fault { at, how, errno };
                let place = Place::new(Start::Leftovers);
                let quarter = serve(&place, &Faulty::new(System::Ordinary, [fault]));
                failed += usize::from(matches!(quarter.state, State::Ended(End::Failed { .. })));
                let judgement = judge(&place, &quarter, fault);
                let hit = &quarter.seen[at];
                judged.push(judgement.map_err(|why| format!("{fault:?} at {hit:?}: {why}")));
            }
        }
    }
    judged.push(ensure(failed > judged.len() / 2, || {
        format!("only {failed} faults of {} ended recording", judged.len())
    }));
    judged
}

fn judge(place: &Place, quarter: &Quarter, fault: Fault) -> Judgement {
    ensure(quarter.has_stopped, || "stop does not return".into())?;
    ensure(quarter.served == 15, || {
        format!("the service served {} minutes of 15", quarter.served)
    })?;
    match &quarter.state {
        State::Ended(End::Failed { why }) => {
            let warning = format!("why=failed: {why}");
            ensure(
                quarter.warnings == 1 && quarter.warning.contains(&warning),
                || {
                    format!(
                        "{} warnings, the last {}",
                        quarter.warnings, quarter.warning
                    )
                },
            )?;
            let system = std::io::Error::from(fault.errno).to_string();
            ensure(
                why.contains(&system) || why.contains("by somebody else"),
                || format!("{why:?} does not say {system:?}"),
            )?;
        }
        State::Ended(End::Stopped) => {
            ensure(quarter.warnings == 0, || {
                format!("a warning: {}", quarter.warning)
            })?;
        }
        other => return Err(format!("the recorder is {other:?}")),
    }
    judge_rest(place)?;
    judge_later(place)
}
