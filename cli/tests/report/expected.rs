//! What a page must show of captures, computed from what they were made of and nothing
//! of the product's.

use std::collections::{HashMap, HashSet};

use crate::recording::Capture;

/// Sums over some captures, in nanoseconds of CPU time.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) nanos: i64,
    pub(crate) count: i64,
    /// Seconds that were sampled.
    pub(crate) seconds: f64,
    /// By function: what it used by itself.
    pub(crate) own: HashMap<String, i64>,
    /// By function: what it used with all that it called.
    pub(crate) cumulative: HashMap<String, i64>,
    /// By task; without one under `(no task)`.
    pub(crate) by_task: HashMap<String, i64>,
    pub(crate) by_thread: HashMap<String, i64>,
    /// CPU time of the stacks with the text searched for in them.
    pub(crate) matched: i64,
}

/// Which samples count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) task: Option<&'a str>,
    pub(crate) thread: Option<&'a str>,
    /// What [`Sums::matched`] is of.
    pub(crate) search: &'a str,
}

impl Sums {
    pub(crate) fn of<'a>(
        captures: impl IntoIterator<Item = &'a Capture>,
        filter: Filter<'_>,
    ) -> Self {
        let mut sums = Self::default();
        for capture in captures {
            sums.seconds += capture.length.as_secs_f64();
            for sample in &capture.samples {
                let task = sample.task.as_deref().unwrap_or("(no task)");
                let thread = sample.thread.as_deref().unwrap_or("(no name)");
                if filter.task.is_some_and(|it| it != task)
                    || filter.thread.is_some_and(|it| it != thread)
                {
                    continue;
                }
                sums.nanos += sample.nanos;
                sums.count += sample.count;
                *sums.by_task.entry(task.to_owned()).or_default() += sample.nanos;
                *sums.by_thread.entry(thread.to_owned()).or_default() += sample.nanos;
                if let Some(leaf) = sample.stack.last() {
                    *sums.own.entry(leaf.clone()).or_default() += sample.nanos;
                }
                let functions: HashSet<&String> = sample.stack.iter().collect();
                if functions.iter().any(|it| it.contains(filter.search)) {
                    sums.matched += sample.nanos;
                }
                for function in functions {
                    *sums.cumulative.entry(function.clone()).or_default() += sample.nanos;
                }
            }
        }
        sums
    }

    /// CPU seconds per second.
    pub(crate) fn cores(&self, nanos: i64) -> f64 {
        nanos as f64 / 1e9 / self.seconds
    }

    /// A part of all that counts.
    pub(crate) fn percent(&self, nanos: i64) -> f64 {
        100.0 * nanos as f64 / self.nanos as f64
    }
}

pub(crate) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// All numbers in a text, with how many digits they have behind the point.
pub(crate) fn numbers(text: &str) -> Vec<(f64, i32)> {
    let plain = text.replace(',', "").replace('−', "-");
    plain
        .split(|it: char| !(it.is_ascii_digit() || it == '.' || it == '-'))
        .filter_map(|it| {
            let digits = it.split_once('.').map_or(0, |(_, behind)| behind.len());
            Some((it.parse().ok()?, i32::try_from(digits).ok()?))
        })
        .collect()
}

/// Asserts that the first numbers in `text` are `expected`, as rounded as they are shown.
#[track_caller]
pub(crate) fn assert_shows(text: &str, expected: &[f64]) {
    let shown = numbers(text);
    assert!(shown.len() >= expected.len(), "{text:?} shows {expected:?}");
    for ((shown, digits), expected) in shown.into_iter().zip(expected) {
        let half = 0.5 * 10_f64.powi(-digits) + 1e-9;
        assert!(
            (shown - expected).abs() <= half,
            "{text:?} shows {expected}"
        );
    }
}
