//! Time by the timers of async-io.

use std::time::{Instant as StdInstant, SystemTime};

use async_io::Timer;
use tachograph_core::{Clock, Instant, async_trait};

/// The system's clocks, with the timers of async-io, counted from the moment
/// this was made.
///
/// A sleep works on any executor and any thread; async-io has a thread of its
/// own to wake it where nobody else does.
///
/// ```
/// use std::time::Duration;
/// use tachograph_core::{Clock, Instant};
/// use tachograph_smol::SmolClock;
///
/// smol::block_on(async {
///     let clock = SmolClock::new();
///     let due = clock.now().saturating_add(Duration::from_millis(2));
///     clock.sleep_until(due).await;
///     assert!(clock.now() >= due);
/// });
/// ```
#[derive(Clone, Debug)]
pub struct SmolClock {
    origin: StdInstant,
}

impl SmolClock {
    /// A clock whose origin is now.
    pub fn new() -> Self {
        Self {
            origin: StdInstant::now(),
        }
    }
}

impl Default for SmolClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SmolClock {
    fn now(&self) -> Instant {
        Instant::from_origin(self.origin.elapsed())
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    async fn sleep_until(&self, instant: Instant) {
        match self.origin.checked_add(instant.since_origin()) {
            Some(deadline) => {
                Timer::at(deadline).await;
            }
            // Beyond what the system's clock can ever read.
            None => std::future::pending().await,
        }
    }
}
