//! Under tokio's paused time the clock is the test's.

use std::time::Duration;

use tachograph_core::{Clock, offload};
use tachograph_tokio::{TokioClock, TokioOffload};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3600);

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

#[test]
fn the_clock_moves_when_the_test_says_so() {
    paused().block_on(async {
        let clock = TokioClock::new();
        let start = clock.now();
        tokio::task::yield_now().await;
        assert_eq!(clock.now(), start);
        tokio::time::advance(HOUR).await;
        assert_eq!(clock.now(), start.saturating_add(HOUR));
    });
}

#[test]
fn a_sleep_takes_the_clock_along_but_not_the_wall() {
    paused().block_on(async {
        let clock = TokioClock::new();
        let wall = clock.wall();
        let due = clock.now().saturating_add(HOUR);
        clock.sleep_until(due).await;
        let late = clock.now().saturating_since(due);
        assert!(clock.now() >= due && late <= Duration::from_millis(1));
        assert!(wall.elapsed().unwrap_or_default() < HOUR / 2);
    });
}

#[test]
fn blocking_work_holds_the_clock() {
    paused().block_on(async {
        let clock = TokioClock::new();
        let offload = TokioOffload::current().expect("inside of a runtime");
        // Without the work below, this would be the next thing to happen.
        let sleeper = clock.clone();
        let due = clock.now().saturating_add(HOUR);
        tokio::spawn(async move { sleeper.sleep_until(due).await });
        tokio::task::yield_now().await;

        let start = clock.now();
        offload::run(&offload, std::thread::yield_now)
            .await
            .expect("ran");
        assert_eq!(clock.now(), start);
    });
}
