//! Chance, for when a thread's first sample is due.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Good enough to keep timers from marching in step with each other or with
/// the work (xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }

    /// More than zero and at most `period`, each as likely.
    pub(crate) fn within(&mut self, period: Duration) -> Duration {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let random = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let nanos = period.as_nanos().max(1);
        let share = (u128::from(random) * nanos) >> 64;
        Duration::from_nanos(u64::try_from(share).unwrap_or(0) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_period_is_as_likely() {
        let mut random = Random::new();
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            let nanos = random.within(Duration::from_nanos(1_000)).as_nanos();
            assert!((1..=1_000).contains(&nanos));
            tenths[(nanos as usize - 1) / 100] += 1;
        }
        // 1000 each, with a standard deviation of 30.
        assert!(
            tenths.iter().all(|it| (800..1200).contains(it)),
            "{tenths:?}"
        );
    }
}
