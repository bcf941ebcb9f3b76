//! Time as tokio tells it.

use std::time::SystemTime;

use tachograph_core::{Clock, Instant, async_trait};
use tokio::time::Instant as TokioInstant;

/// tokio's clock, counted from the moment this was made.
///
/// Its monotonic time is that of [`tokio::time::Instant`], and so it stands
/// still and jumps with it when a test pauses tokio's time. Its wall time is
/// always the system's.
///
/// A sleep ends up to a millisecond late, never early. It must be polled
/// inside of a tokio runtime with its time driver enabled, or it panics, as
/// every timer of tokio does. Reading the clock works anywhere, but a paused
/// time is seen inside of its runtime only.
///
/// ```
/// use std::time::Duration;
/// use tachograph_core::{Clock, Instant};
/// use tachograph_tokio::TokioClock;
///
/// let runtime = tokio::runtime::Builder::new_current_thread()
///     .enable_time()
///     .build()?;
/// runtime.block_on(async {
///     let clock = TokioClock::new();
///     let due = clock.now().saturating_add(Duration::from_millis(2));
///     clock.sleep_until(due).await;
///     assert!(clock.now() >= due);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokioClock {
    origin: TokioInstant,
}

impl TokioClock {
    /// A clock whose origin is now.
    pub fn new() -> Self {
        Self {
            origin: TokioInstant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::from_origin(TokioInstant::now().saturating_duration_since(self.origin))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    async fn sleep_until(&self, instant: Instant) {
        // tokio itself would wait for its next whole millisecond.
        if self.now() >= instant {
            return;
        }
        match self.origin.checked_add(instant.since_origin()) {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            // Beyond what the system's clock can ever read.
            None => std::future::pending().await,
        }
    }
}
