//! What signals a thread each time it has used a period of CPU time.

use std::io;
use std::time::Duration;

use tachograph_core::TimeSource;

use super::cookie::Cookie;
use super::event::Event;
use super::timer::Timer;

/// The timer or event of one thread; ended when dropped.
#[derive(Debug)]
pub(crate) enum Ticker {
    Timer(Timer),
    Event(Event),
}

impl Ticker {
    /// One on `thread`, that has not started and will expire `first` after it
    /// has.
    pub(crate) fn on_thread(
        source: TimeSource,
        thread: i32,
        cookie: Cookie,
        first: Duration,
    ) -> io::Result<Self> {
        match source {
            TimeSource::PerfEvents => Event::on_thread(thread, first).map(Self::Event),
            _ => Timer::on_thread(thread, cookie).map(Self::Timer),
        }
    }

    /// Starts it with the same `first`.
    pub(crate) fn start(&self, first: Duration, period: Duration) -> io::Result<()> {
        match self {
            Self::Timer(timer) => timer.start(first, period),
            Self::Event(event) => event.start(),
        }
    }

    /// The descriptor that its signals carry instead of a cookie.
    pub(crate) fn descriptor(&self) -> Option<i32> {
        match self {
            Self::Timer(_) => None,
            Self::Event(event) => Some(event.descriptor()),
        }
    }

    /// Whether the thread has ended, even if another has its id by now.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Timer(timer) => timer.is_over(),
            Self::Event(event) => event.is_over(),
        }
    }
}
