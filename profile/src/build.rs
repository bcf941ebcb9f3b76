//! From sampled stacks to a profile.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use crate::draft::Draft;
use crate::module::LoadedModules;
use crate::profile::Profile;
use crate::symbolize::{self, Names};

/// What a profile says of its making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileMeta {
    /// When sampling began.
    pub started_at: SystemTime,
    /// How long it went on.
    pub duration: Duration,
    /// Samples per second of CPU time; 0 if that means nothing here, and then
    /// samples weigh nothing unless CPU time was measured.
    pub frequency_hz: u32,
}

/// What a sample is labelled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels<'a> {
    /// The name of the thread.
    pub thread: Option<&'a str>,
    /// The name of the task that the thread was polling.
    pub task: Option<&'a str>,
}

/// Collects stacks and finishes them into a [`Profile`].
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tachograph_profile::{
///     Labels, LoadedModules, Module, Names, ProfileBuilder, ProfileMeta, Segment,
/// };
///
/// let text = Segment { start: 0x5000_1000, end: 0x5000_3000, file_offset: 0x1000 };
/// let main = Module::new("/srv/bin/demo", 0x5000_0000, [text]).with_file(None);
///
/// let mut builder = ProfileBuilder::new(ProfileMeta {
///     started_at: SystemTime::UNIX_EPOCH,
///     duration: Duration::from_secs(1),
///     frequency_hz: 100,
/// });
/// builder.add(&[0x5000_1234, 0x5000_1101], Labels::default(), 2);
/// builder.add(&[0x5000_1234, 0x5000_1101], Labels::default(), 1);
///
/// let cpu = Duration::from_millis(25);
/// let profile = builder.finish(&LoadedModules::new(main, []), Names::SymbolTable, Some(cpu));
/// let sample = profile.samples().next().expect("one stack, seen three times");
/// assert_eq!(sample.value("samples"), Some(3));
/// assert_eq!(sample.value("cpu"), Some(25_000_000));
/// let stack: Vec<&str> = sample.stack().collect();
/// assert_eq!(stack, ["demo+0x1234", "demo+0x1100"]);
/// ```
#[derive(Clone, Debug)]
pub struct ProfileBuilder {
    meta: ProfileMeta,
    // Sorted, so that equal samples give an equal profile whatever their order.
    samples: BTreeMap<SampleKey, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampleKey {
    // Addresses of instructions, callers' already moved into the call.
    stack: Vec<u64>,
    thread: Option<String>,
    task: Option<String>,
}

impl ProfileBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new(meta: ProfileMeta) -> Self {
        Self {
            meta,
            samples: BTreeMap::new(),
        }
    }

    /// Adds `count` samples of one stack. Equal stacks with equal labels become one
    /// sample with the sum of their counts.
    ///
    /// `stack` is leaf first: the first address is that of the interrupted
    /// instruction, all others are return addresses. Since a return address belongs to
    /// the call before it, the profile has it less one. An empty stack counts too, under
    /// the name `[no stack]`, so that totals stay true.
    pub fn add(&mut self, stack: &[u64], labels: Labels<'_>, count: u64) {
        if count == 0 {
            return;
        }
        let key = SampleKey {
            stack: stack
                .iter()
                .enumerate()
                .map(|(depth, &address)| match depth {
                    0 => address,
                    _ => address.saturating_sub(1),
                })
                .collect(),
            thread: labels.thread.map(str::to_owned),
            task: labels.task.map(str::to_owned),
        };
        let sum = self.samples.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Looks up names and makes the profile. Blocks, since it reads the modules' files.
    ///
    /// Sample types are `samples/count`, which is exactly what was counted, and
    /// `cpu/nanoseconds`, the default one. If `cpu` is given, it is the CPU time the
    /// process is known to have used meanwhile, and is shared out in proportion to the
    /// counts, to the last nanosecond; else each count stands for one period.
    ///
    /// Mapping 1 is the main executable, hit or not; other mappings are there if hit. An
    /// address without a name is called by its module and its address in it
    /// (`libfoo.so.6+0x1234`), the same in every run, or `[unknown]` outside all
    /// modules. A module whose file is gone, or is another build than the one in memory,
    /// gives no names, and a comment in the profile says so.
    #[must_use]
    pub fn finish(self, modules: &LoadedModules, names: Names, cpu: Option<Duration>) -> Profile {
        let addresses: BTreeSet<u64> = self
            .samples
            .keys()
            .flat_map(|key| key.stack.iter().copied())
            .collect();
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let resolution = symbolize::resolve(modules, &addresses, names);

        let mut draft = Draft::new(modules);
        for (address, resolved) in addresses.into_iter().zip(resolution.resolved) {
            draft.locate(address, resolved);
        }
        let period = 1_000_000_000_i64
            .checked_div(i64::from(self.meta.frequency_hz))
            .unwrap_or(0);
        let weights = weights(self.samples.values(), period, cpu);
        for ((key, &count), weight) in self.samples.iter().zip(weights) {
            let labels = Labels {
                thread: key.thread.as_deref(),
                task: key.task.as_deref(),
            };
            draft.sample(&key.stack, labels, [signed(count), weight]);
        }
        for note in &resolution.notes {
            draft.comment(note);
        }
        draft.finish(&self.meta, period)
    }
}

/// The nanoseconds of each sample.
fn weights<'a>(
    counts: impl Iterator<Item = &'a u64> + Clone,
    period: i64,
    cpu: Option<Duration>,
) -> Vec<i64> {
    let Some(cpu) = cpu else {
        return counts
            .map(|&count| signed(count).saturating_mul(period))
            .collect();
    };
    let cpu = u128::from(u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX));
    let total: u128 = counts.clone().map(|&count| u128::from(count)).sum();
    // Rounding the running sum rather than each share keeps the sum exact.
    let mut counted = 0;
    let mut given = 0;
    counts
        .map(|&count| {
            counted += u128::from(count);
            let due = cpu.saturating_mul(counted) / total;
            let share = due - given;
            given = due;
            i64::try_from(share).unwrap_or(i64::MAX)
        })
        .collect()
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(counts: &[u64], cpu: u64) -> Vec<i64> {
        weights(counts.iter(), 10, Some(Duration::from_nanos(cpu)))
    }

    #[test]
    fn measured_time_is_shared_out_to_the_last_nanosecond() {
        assert_eq!(shares(&[1, 1, 1], 100), [33, 33, 34]);
        assert_eq!(shares(&[1, 2, 7], 1_000), [100, 200, 700]);
        assert_eq!(shares(&[5, 5], 1), [0, 1]);
        assert_eq!(shares(&[3], 0), [0]);
        assert_eq!(shares(&[], 100), []);
        for cpu in [1, 99_999_999_999, 12_345_678_901] {
            let counts = [17, 1, 1, 4_000, 3, 250, 9];
            let shares = shares(&counts, cpu);
            assert_eq!(shares.iter().sum::<i64>(), cpu as i64);
            for (share, count) in shares.iter().zip(counts) {
                let exact = cpu as f64 * count as f64 / 4_281.0;
                assert!((*share as f64 - exact).abs() <= 1.0, "{share} of {exact}");
            }
        }
    }

    #[test]
    fn unmeasured_time_is_a_period_for_each_count() {
        assert_eq!(weights([1, 3].iter(), 10, None), [10, 30]);
        assert_eq!(weights([u64::MAX].iter(), 10, None), [i64::MAX]);
    }

    #[test]
    fn absurd_counts_do_not_overflow() {
        let shares = shares(&[u64::MAX, u64::MAX, 1], u64::MAX);
        assert!(shares.iter().all(|&share| share >= 0));
    }
}
