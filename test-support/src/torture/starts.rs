//! Starts and stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{End, Figures, Subject, Tally};
use crate::{burn, finish, process_cpu};

/// How often at least.
const ROUNDS_MIN: u32 = 300;

/// The sampler is started and stopped 300 times and more while three threads are
/// busy: one session is dropped, of the next the samples are, of the third they are
/// read.
pub fn starts_and_stops(subject: Subject<'_>, time: Duration) -> Figures {
    let (start, before) = (Instant::now(), process_cpu());
    let end = End::after(time);
    let stop = AtomicBool::new(false);
    let tally = Tally::default();
    let mut figures = Figures::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    burn(Duration::from_millis(1));
                }
            });
        }
        let mut round = 0;
        while round < ROUNDS_MIN || !end.is_due() {
            let session = subject.start();
            if round % 3 != 0 {
                let until = process_cpu() + Duration::from_millis(10);
                while process_cpu() < until {
                    thread::yield_now();
                }
            }
            match round % 3 {
                0 => drop(session),
                1 => drop(session.stop().expect("it stops")),
                _ => {
                    let (profile, truth) = finish(session);
                    let count = profile.total("samples").map(u64::try_from);
                    tally.count(count == Some(Ok(truth.samples)));
                    figures.add(profile, &truth);
                }
            }
            round += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    figures.took = start.elapsed();
    figures.cpu = process_cpu() - before;
    figures.results = tally.into_results();
    figures
}
