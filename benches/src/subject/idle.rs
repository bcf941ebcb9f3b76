//! A whole recorder on tokio, between two captures.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tachograph::{Policy, State, Timestamp};
use tachograph_core::Sampler;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::burn::burn;
use crate::workload::interpose::{self, Interposed};
use crate::workload::process::{threads, timers, voluntary_switches};
use crate::workload::report::Report;

/// How long threads of the runtime's blocking pool stay that have nothing to do.
const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// By then a capture of one second is over, if ever.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(sampler: Arc<dyn Sampler>, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()?;
    thread::sleep(4 * KEEP_ALIVE);
    let mut report = Report::default();
    let threads_before = threads()?;
    let switches_before = switches_in(seconds)?;

    let until = Timestamp::from(SystemTime::now() + Duration::from_secs(3600));
    let recorder = {
        let _inside = runtime.enter();
        tachograph::builder()
            .directory(directory.path().join("captures"))
            .until(until.to_string())
            .sampler(sampler)
            .policy(
                Policy::builder()
                    .capture_length(Duration::from_secs(1))
                    .build()?,
            )
            .start(tachograph::tokio())?
    };
    let start = Instant::now();
    while recorder.status().captures == 0 {
        if matches!(recorder.status().state, State::Ended(_)) || start.elapsed() > PATIENCE {
            return Err(format!("no capture: {:?}", recorder.status()).into());
        }
        burn(Duration::from_millis(20));
    }
    thread::sleep(8 * KEEP_ALIVE);

    report.number("threads", threads()? as f64 - threads_before as f64);
    report.number("timers", timers()? as f64);
    report.number("switches", switches_in(seconds)? - switches_before);
    // A profiler may leave no handler at all, and then there is none to watch.
    interpose::watch_this_thread();
    let interposed = Interposed::new();
    burn(seconds / 4);
    drop(interposed);
    report.number("signals", f64::from(interpose::seen()));
    runtime.block_on(recorder.stop());
    Ok(report)
}

/// How often threads of this process went to wait, while this one sleeps.
fn switches_in(time: Duration) -> Result<f64, Failure> {
    let before = voluntary_switches()?;
    thread::sleep(time);
    Ok(voluntary_switches()? - before)
}
