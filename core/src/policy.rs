//! When to capture, how long and how often: validated where it is made.

use std::time::Duration;

use crate::{Error, ErrorKind};

/// The rhythm of a recorder. Every value that exists is a valid one.
///
/// | | default | bounds |
/// |---|---|---|
/// | capture length | 30 s | over zero, at most the cooldown |
/// | cooldown, start to start | 5 min | 10 ms at least, at most the interval |
/// | interval of periodic captures | 30 min | |
/// | sampling frequency | 100 Hz | 1 to 1000 Hz, and what the sampler can do |
///
/// ```
/// use std::time::Duration;
/// use tachograph_core::Policy;
///
/// let policy = Policy::builder()
///     .capture_length(Duration::from_secs(5))
///     .cooldown(Duration::from_secs(60))
///     .build()?;
/// assert_eq!(policy.interval(), Duration::from_secs(30 * 60));
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    capture_length: Duration,
    interval: Duration,
    cooldown: Duration,
    frequency_hz: u32,
}

impl Policy {
    /// The shortest cooldown of any policy.
    pub const COOLDOWN_MIN: Duration = Duration::from_millis(10);

    /// The highest sampling frequency of any policy.
    pub const FREQUENCY_HZ_MAX: u32 = 1000;

    /// Starts from the defaults.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder {
            policy: Self::default(),
        }
    }

    /// How long a capture samples.
    pub fn capture_length(&self) -> Duration {
        self.capture_length
    }

    /// How far apart periodic captures are.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// How far apart the starts of any two captures are, at least.
    pub fn cooldown(&self) -> Duration {
        self.cooldown
    }

    /// Samples per second of CPU time.
    pub fn frequency_hz(&self) -> u32 {
        self.frequency_hz
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            capture_length: Duration::from_secs(30),
            interval: Duration::from_secs(30 * 60),
            cooldown: Duration::from_secs(5 * 60),
            frequency_hz: 100,
        }
    }
}

/// Collects the values of a [`Policy`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy is made by `build`"]
pub struct PolicyBuilder {
    policy: Policy,
}

impl PolicyBuilder {
    /// How long a capture samples.
    pub fn capture_length(mut self, length: Duration) -> Self {
        self.policy.capture_length = length;
        self
    }

    /// How far apart periodic captures are.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.policy.interval = interval;
        self
    }

    /// How far apart the starts of any two captures are, at least.
    pub fn cooldown(mut self, cooldown: Duration) -> Self {
        self.policy.cooldown = cooldown;
        self
    }

    /// Samples per second of CPU time.
    pub fn frequency_hz(mut self, frequency_hz: u32) -> Self {
        self.policy.frequency_hz = frequency_hz;
        self
    }

    /// Checks the values together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`], naming the value that is out of its bounds.
    pub fn build(self) -> Result<Policy, Error> {
        let Policy {
            capture_length,
            interval,
            cooldown,
            frequency_hz,
        } = self.policy;
        let wrong = |message: String| Err(Error::new(ErrorKind::Setting, message));
        if capture_length.is_zero() {
            return wrong("capture_length is 0: a capture lasts longer than that".into());
        }
        if capture_length > cooldown {
            return wrong(format!(
                "capture_length is {capture_length:?}, over the cooldown of {cooldown:?}: \
                 a capture must end before the next may start"
            ));
        }
        if cooldown < Policy::COOLDOWN_MIN {
            return wrong(format!(
                "cooldown is {cooldown:?}: it must be {:?} or more",
                Policy::COOLDOWN_MIN
            ));
        }
        if cooldown > interval {
            return wrong(format!(
                "cooldown is {cooldown:?}, over the interval of {interval:?}: \
                 no periodic capture could keep its time"
            ));
        }
        if !(1..=Policy::FREQUENCY_HZ_MAX).contains(&frequency_hz) {
            return wrong(format!(
                "frequency_hz is {frequency_hz}: it must be 1 to {}",
                Policy::FREQUENCY_HZ_MAX
            ));
        }
        Ok(self.policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn build(capture: Duration, cooldown: Duration, interval: Duration) -> Result<Policy, Error> {
        Policy::builder()
            .capture_length(capture)
            .cooldown(cooldown)
            .interval(interval)
            .build()
    }

    #[test]
    fn the_default_is_valid() {
        assert_eq!(Policy::builder().build().expect("valid"), Policy::default());
    }

    #[test]
    fn equal_lengths_are_allowed_and_one_nanosecond_over_is_not() {
        assert!(build(SECOND, SECOND, SECOND).is_ok());
        let over = SECOND + Duration::from_nanos(1);
        for (error, said) in [
            (build(over, SECOND, SECOND), "capture_length"),
            (build(SECOND, over, SECOND), "cooldown"),
            (build(Duration::ZERO, SECOND, SECOND), "capture_length is 0"),
            (
                build(Duration::from_nanos(1), Duration::from_nanos(1), SECOND),
                "cooldown is 1ns",
            ),
            // A zero cooldown or interval leaves no room for a capture.
            (build(SECOND, Duration::ZERO, SECOND), "capture_length"),
            (build(SECOND, SECOND, Duration::ZERO), "cooldown"),
        ] {
            let error = error.expect_err(said);
            assert_eq!(error.kind(), ErrorKind::Setting);
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn each_value_is_the_one_that_was_set() {
        let policy = build(SECOND, 2 * SECOND, 3 * SECOND).expect("valid");
        assert_eq!(policy.capture_length(), SECOND);
        assert_eq!(policy.cooldown(), 2 * SECOND);
        assert_eq!(policy.interval(), 3 * SECOND);
        assert_eq!(policy.frequency_hz(), 100);
    }

    #[test]
    fn the_shortest_cooldown_is_allowed() {
        let shortest = Policy::COOLDOWN_MIN;
        assert!(build(shortest, shortest, shortest).is_ok());
    }

    #[test]
    fn frequency_has_both_bounds() {
        for (frequency, valid) in [(0, false), (1, true), (1000, true), (1001, false)] {
            let policy = Policy::builder().frequency_hz(frequency).build();
            assert_eq!(policy.is_ok(), valid, "{frequency}");
        }
    }
}
