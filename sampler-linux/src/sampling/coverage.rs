//! How much of the truth a capture has.

use std::time::Duration;

use tachograph_core::TimeSource;

/// What a capture knows of its samples, and of those it does not have. All
/// counts but those of threads are weighted, as the samples in the profile are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// Samples in the profile.
    pub(crate) kept: u64,
    /// Of those, taken by the process's timer from threads that had none of
    /// their own.
    pub(crate) by_process_timer: u64,
    /// Of those, due at the end of the capture in threads that the kernel had
    /// not looked at again, and counted with the thread's latest stack.
    pub(crate) carried: u64,
    /// Of those, without a task.
    pub(crate) unlabelled: u64,
    /// Of those, from stacks larger than what is copied.
    pub(crate) cut: u64,
    /// Of those, from stacks that could not be walked to their root for another
    /// reason.
    pub(crate) broken: u64,
    /// Of those, without any stack: it could not be copied, or the thread was
    /// never met.
    pub(crate) without_stack: u64,
    /// Samples left out since the ring was full.
    pub(crate) lost_ring_full: u64,
    /// Samples left out since they were late.
    pub(crate) lost_late: u64,
    /// Samples left out since there were too many different ones.
    pub(crate) lost_memory: u64,
    /// Threads that were seen.
    pub(crate) threads_seen: u64,
    /// Of those, which missed samples since they block the signal.
    pub(crate) threads_blocking: u64,
    /// Of those, which got no timer since the system refused one.
    pub(crate) threads_refused: u64,
    /// Threads whose labels could not be read, since the process began.
    pub(crate) threads_without_label: u64,
    /// What told when a sample was due.
    pub(crate) time_source: TimeSource,
    /// Whether the process's timer ran.
    pub(crate) has_process_timer: bool,
    /// Whether somebody else took the signal for a while.
    pub(crate) was_displaced: bool,
    /// CPU time of the process while it was sampled.
    pub(crate) cpu_used: Duration,
    /// Of that, of the thread that unwinds.
    pub(crate) cpu_drain: Duration,
}

impl Coverage {
    /// Samples that are known to be missing: at least those that were left out,
    /// and as many as CPU time says.
    pub(crate) fn lost(&self, frequency_hz: u32) -> u64 {
        let left_out = self.lost_ring_full + self.lost_late + self.lost_memory;
        let nanos = self.cpu_used.as_nanos() * u128::from(frequency_hz);
        let expected = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
        left_out.max(expected.saturating_sub(self.kept))
    }

    /// The CPU time that the samples in the profile stand for.
    fn cpu_covered(&self, frequency_hz: u32) -> Duration {
        let nanos = u128::from(self.kept) * 1_000_000_000 / u128::from(frequency_hz.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The same for the sidecar.
    pub(crate) fn told(&self, frequency_hz: u32) -> tachograph_core::Coverage {
        tachograph_core::Coverage {
            lost_buffer_full: self.lost_ring_full,
            lost_late: self.lost_late,
            lost_memory: self.lost_memory,
            unlabelled: self.unlabelled,
            cut: self.cut,
            broken: self.broken,
            without_stack: self.without_stack,
            by_process_timer: self.by_process_timer,
            carried: self.carried,
            threads_seen: self.threads_seen,
            threads_blocking: self.threads_blocking,
            threads_refused: self.threads_refused,
            threads_without_label: self.threads_without_label,
            cpu_used_seconds: seconds(self.cpu_used),
            cpu_covered_seconds: seconds(self.cpu_covered(frequency_hz)),
            cpu_sampler_seconds: seconds(self.cpu_drain),
            time_source: self.time_source,
            has_process_timer: self.has_process_timer,
            was_displaced: self.was_displaced,
        }
    }

    /// Lines for the profile's comments.
    pub(crate) fn lines(&self, frequency_hz: u32) -> Vec<String> {
        let covered = self.cpu_covered(frequency_hz);
        let mut lines = vec![
            format!(
                "samples: {} kept, {} lost to a full ring, {} late, {} beyond the memory limit",
                self.kept, self.lost_ring_full, self.lost_late, self.lost_memory
            ),
            format!(
                "of the kept: {} without a task, {} cut, {} broken, {} without a stack, \
                 {} by the process timer, {} carried to the end",
                self.unlabelled,
                self.cut,
                self.broken,
                self.without_stack,
                self.by_process_timer,
                self.carried
            ),
            format!(
                "threads: {} seen, {} blocking SIGPROF, {} refused a timer by the system, \
                 {} without room for a label",
                self.threads_seen,
                self.threads_blocking,
                self.threads_refused,
                self.threads_without_label
            ),
            format!(
                "CPU seconds: {:.3} covered, {:.3} used, {:.3} of them by the sampler's thread",
                covered.as_secs_f64(),
                self.cpu_used.as_secs_f64(),
                self.cpu_drain.as_secs_f64()
            ),
        ];
        if self.time_source == TimeSource::PerfEvents {
            lines.push(
                "timers refused, sampled by perf events: CPU time in the kernel is missing".into(),
            );
        }
        if !self.has_process_timer {
            lines.push("no process timer: threads without a timer of their own are missing".into());
        }
        if self.was_displaced {
            lines.push("somebody else handled SIGPROF for a while: samples are missing".into());
        }
        lines
    }
}

/// By one division of a whole number, so that it prints with no more digits
/// than a nanosecond has.
fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_the_greater_of_both_measures() {
        let coverage = Coverage {
            kept: 900,
            lost_ring_full: 30,
            lost_late: 5,
            lost_memory: 7,
            cpu_used: Duration::from_millis(10_009),
            ..Coverage::default()
        };
        assert_eq!(coverage.lost(100), 100);
        assert_eq!(coverage.lost(90), 42);
        assert_eq!(coverage.cpu_covered(100), Duration::from_secs(9));
    }
}
