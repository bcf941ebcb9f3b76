//! A task of a single-threaded executor beside a recorder that captures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use tachograph::{Driver, Policy, State, Timestamp, TokioClock, TokioOffload};
use tachograph_core::Sampler;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::clock::nanos;
use crate::workload::report::Report;

/// The driver of a recorder, each of whose polls is timed.
struct Timed {
    driver: Driver,
    longest: Arc<AtomicU64>,
}

impl Future for Timed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let start = nanos();
        let poll = Pin::new(&mut self.driver).poll(context);
        self.longest.fetch_max(nanos() - start, Ordering::Relaxed);
        poll
    }
}

/// Gives way to all others again and again, until it is over; returns for how long
/// they had the thread, in seconds, at most.
async fn largest_gap(mut is_over: impl FnMut() -> bool) -> f64 {
    let mut largest = 0;
    while !is_over() {
        let start = nanos();
        tokio::task::yield_now().await;
        largest = largest.max(nanos() - start);
    }
    largest as f64 / 1e9
}

pub(super) fn run(sampler: Arc<dyn Sampler>, args: &Args) -> Result<Report, Failure> {
    let length = args.seconds()?.max(Duration::from_millis(100));
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let mut report = Report::default();
        let end = Instant::now() + length;
        let without = largest_gap(|| Instant::now() >= end).await;
        report.number("gap without", without);

        let until = Timestamp::from(SystemTime::now() + Duration::from_secs(3600));
        let (recorder, driver) = tachograph::builder()
            .directory(directory.path().join("captures"))
            .until(until.to_string())
            .sampler(sampler)
            .policy(Policy::builder().capture_length(length).build()?)
            .build(TokioClock::new(), TokioOffload::current()?)?;
        let longest = Arc::new(AtomicU64::new(0));
        tokio::spawn(Timed {
            driver,
            longest: Arc::clone(&longest),
        });
        let is_over = || {
            let status = recorder.status();
            status.captures > 0 || matches!(status.state, State::Ended(_))
        };
        report.number("gap with", largest_gap(is_over).await);
        recorder.stop().await;
        let status = recorder.status();
        if status.captures == 0 {
            return Err(format!("no capture: {status:?}").into());
        }
        report.number("poll", longest.load(Ordering::Relaxed) as f64 / 1e9);
        Ok(report)
    })
}
