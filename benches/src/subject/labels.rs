//! What a label costs each poll.

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tachograph_core::{Recorder, Sampler};
use tachograph_test_support::labelling_recorder;

use crate::workload::Failure;
use crate::workload::clock::nanos;
use crate::workload::report::{Report, quantile};

/// Half a millisecond: most of the time nothing comes in between.
const POLLS: u32 = 200_000;
const ROUNDS: usize = 301;

/// A future that is never ready, and has next to nothing to do.
struct Counter(u64);

impl Future for Counter {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0 = black_box(self.0 + 1);
        Poll::Pending
    }
}

/// Nanoseconds a poll.
#[inline(never)]
fn time(mut future: Pin<&mut impl Future>) -> f64 {
    let mut context = Context::from_waker(Waker::noop());
    let start = nanos();
    for _ in 0..POLLS {
        let ready = black_box(future.as_mut()).poll(&mut context).is_ready();
        black_box(ready);
    }
    (nanos() - start) as f64 / f64::from(POLLS)
}

pub(super) fn run(sampler: Arc<dyn Sampler>) -> Result<Report, Failure> {
    let (recorder, _driver) = labelling_recorder(&*sampler);
    let mut plain = pin!(Counter(0));
    let mut inert = pin!(Recorder::inert().task("counter", Counter(0)));
    let mut active = pin!(recorder.task("counter", Counter(0)));

    let mut of_plain = Vec::new();
    let mut of_inert = Vec::new();
    let mut of_active = Vec::new();
    for _ in 0..ROUNDS {
        // What disturbs one of them should disturb its neighbours.
        let base = time(plain.as_mut());
        of_plain.push(base);
        of_inert.push(time(inert.as_mut()) - base);
        of_active.push(time(active.as_mut()) - base);
    }
    let mut report = Report::default();
    for (name, mut values) in [
        ("plain", of_plain),
        ("inert", of_inert),
        ("active", of_active),
    ] {
        for (part, share) in [("low", 0.25), ("median", 0.5), ("high", 0.75)] {
            report.number(format!("{name} ns {part}"), quantile(&mut values, share));
        }
    }
    Ok(report)
}
