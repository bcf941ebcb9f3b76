//! A clock that moves when it is told to.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::offload::Work;
use crate::{Clock, Instant};

/// A clock that stands still until a test moves it. Clones are the same clock.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tachograph_core::testing::ManualClock;
/// use tachograph_core::{Clock, Instant};
///
/// let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now(), Instant::from_origin(Duration::from_secs(5)));
/// assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_secs(5));
///
/// // A machine that was suspended: only the wall clock went on.
/// clock.suspend(Duration::from_secs(60));
/// assert_eq!(clock.now(), Instant::from_origin(Duration::from_secs(5)));
/// assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_secs(65));
/// ```
#[derive(Clone)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

struct State {
    now: Instant,
    wall: SystemTime,
    /// What waits, in the order in which it is due; the number keeps the order
    /// of those due at the same instant.
    waiting: BTreeMap<(Instant, u64), Waiting>,
    next_number: u64,
}

enum Waiting {
    Sleeper(Waker),
    Call(Work),
}

impl ManualClock {
    /// A clock at its origin, whose wall time is `wall`.
    pub fn new(wall: SystemTime) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                now: Instant::ORIGIN,
                wall,
                waiting: BTreeMap::new(),
                next_number: 0,
            })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves both times forward by `duration`.
    pub fn advance(&self, duration: Duration) {
        let to = self.state().now.saturating_add(duration);
        self.advance_to(to);
    }

    /// Moves both times forward until the monotonic one is `instant`, waking
    /// what is due on the way in its order. Never moves backwards.
    pub fn advance_to(&self, instant: Instant) {
        loop {
            let mut state = self.state();
            let due = state
                .waiting
                .first_key_value()
                .map(|(&key, _)| key)
                .filter(|&(due, _)| due <= instant);
            let Some(key) = due else {
                state.move_to(instant);
                return;
            };
            state.move_to(key.0);
            let waiting = state.waiting.remove(&key);
            drop(state);
            match waiting {
                Some(Waiting::Sleeper(waker)) => waker.wake(),
                Some(Waiting::Call(work)) => work(),
                None => {}
            }
        }
    }

    /// Lets only the wall time go on, as on a suspended machine.
    pub fn suspend(&self, duration: Duration) {
        let mut state = self.state();
        state.wall += duration;
    }

    /// Steps the wall time, in either direction.
    pub fn set_wall(&self, wall: SystemTime) {
        self.state().wall = wall;
    }

    /// When the next thing that waits is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.state()
            .waiting
            .first_key_value()
            .map(|(&(due, _), _)| due)
    }

    /// Runs `work` when the clock is moved to or past `instant`, on the thread
    /// that moves it.
    pub fn call_at(&self, instant: Instant, work: Work) {
        self.state().insert(instant, Waiting::Call(work));
    }
}

impl State {
    fn move_to(&mut self, instant: Instant) {
        self.wall += instant.saturating_since(self.now);
        self.now = self.now.max(instant);
    }

    fn insert(&mut self, due: Instant, waiting: Waiting) -> (Instant, u64) {
        let key = (due, self.next_number);
        self.next_number += 1;
        self.waiting.insert(key, waiting);
        key
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.state().now
    }

    fn wall(&self) -> SystemTime {
        self.state().wall
    }

    async fn sleep_until(&self, instant: Instant) {
        Sleep {
            clock: self,
            until: instant,
            registered: None,
        }
        .await;
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("ManualClock")
            .field("now", &state.now)
            .field("wall", &state.wall)
            .field("waiting", &state.waiting.len())
            .finish()
    }
}

struct Sleep<'a> {
    clock: &'a ManualClock,
    until: Instant,
    registered: Option<(Instant, u64)>,
}

impl Sleep<'_> {
    fn unregister(&mut self) {
        if let Some(key) = self.registered.take() {
            self.clock.state().waiting.remove(&key);
        }
    }
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.unregister();
        let mut state = self.clock.state();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let sleeper = Waiting::Sleeper(context.waker().clone());
        let key = state.insert(self.until, sleeper);
        drop(state);
        self.registered = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.unregister();
    }
}
