//! Where time comes from.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::{Instant, Now};

/// The one source of time of a recorder: monotonic now, wall now, and sleeping
/// come from the same object, so that a test which advances it advances all.
///
/// # Contract
///
/// An implementation promises that
/// - [`now`](Self::now) never goes backwards and does not block;
/// - [`sleep_until`](Self::sleep_until) never completes before `now` has
///   reached the instant, and completes at once if it already has;
/// - dropping the sleeping future cancels it and leaves nothing behind.
///
/// It may wake late or spuriously late: the recorder reads `now` again after
/// every wake. `now` may stand still while the machine is suspended, which is
/// why the recorder also looks at [`wall`](Self::wall).
#[async_trait]
pub trait Clock: Send + Sync {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The wall time, which may be stepped in both directions.
    fn wall(&self) -> SystemTime;

    /// Waits until [`now`](Self::now) has reached `instant`.
    async fn sleep_until(&self, instant: Instant);
}

#[async_trait]
impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn wall(&self) -> SystemTime {
        (**self).wall()
    }

    async fn sleep_until(&self, instant: Instant) {
        (**self).sleep_until(instant).await;
    }
}

/// Reads both times of `clock`.
pub(crate) fn read(clock: &dyn Clock) -> Now {
    Now {
        monotonic: clock.now(),
        wall: clock.wall(),
    }
}
