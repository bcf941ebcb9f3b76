//! How far it has got, for whoever waits longer than a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work under this is not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal; there after a second, gone at the
/// end.
pub(crate) struct Progress {
    bar: ProgressBar,
    ended: Option<Sender<()>>,
    timer: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn of(files: usize) -> Self {
        let style = ProgressStyle::with_template("{spinner} {pos} of {len} files, {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some(files as u64), target).with_style(style);
        let (ended, waiting) = mpsc::channel();
        let shown = bar.clone();
        let timer = thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Self {
            bar,
            ended: Some(ended),
            timer: Some(timer),
        }
    }

    pub(crate) fn advance(&self) {
        self.bar.inc(1);
    }

    /// Writes something else to standard error, without the bar in its way.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(timer) = self.timer.take() {
            // It only waits and draws.
            let _ = timer.join();
        }
        self.bar.finish_and_clear();
    }
}
