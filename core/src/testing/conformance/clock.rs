use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;

use super::BlockOn;
use crate::Clock;

/// The contract of [`Clock`].
///
/// # Panics
///
/// If `clock` breaks it.
pub fn clock(clock: Arc<dyn Clock>, block_on: BlockOn<'_>) {
    let mut before = clock.now();
    for _ in 0..1000 {
        let now = clock.now();
        assert!(now >= before, "now went backwards: {before:?}, {now:?}");
        before = now;
    }

    let past = clock.clone();
    block_on(
        async move {
            let at_once = past.sleep_until(past.now()).now_or_never();
            assert!(at_once.is_some(), "sleeping until now did not end at once");
        }
        .boxed(),
    );

    let sleeping = clock.clone();
    block_on(
        async move {
            for millis in [1, 2, 3] {
                let until = sleeping.now().saturating_add(Duration::from_millis(millis));
                sleeping.sleep_until(until).await;
                assert!(sleeping.now() >= until, "woke before the instant");
            }
        }
        .boxed(),
    );

    block_on(
        async move {
            let far = clock.now().saturating_add(Duration::from_secs(1_000_000));
            let mut sleep = clock.sleep_until(far);
            let pending = futures::poll!(&mut sleep);
            assert!(pending.is_pending(), "slept a million seconds at once");
            drop(sleep);
            // A sleep beyond any calendar must not panic either.
            let farthest = crate::Instant::from_origin(Duration::MAX);
            let mut sleep = clock.sleep_until(farthest);
            assert!(futures::poll!(&mut sleep).is_pending());
            let soon = clock.now().saturating_add(Duration::from_millis(1));
            clock.sleep_until(soon).await;
        }
        .boxed(),
    );
}
