//! The samples of one profile: judged, and as columns.

use serde::Serialize;
use tachograph_profile::Profile;

/// Samples as columns, each stack and label set once.
#[derive(Debug, Default, Serialize)]
pub(super) struct Rows {
    /// By how much the number of the stack is larger than that of the row before.
    stack: Vec<u32>,
    label: Vec<u32>,
    count: Vec<i64>,
    cpu: Vec<i64>,
}

/// What a profile's samples hold, and their sums.
pub(super) struct Values {
    pub(super) samples_place: usize,
    pub(super) cpu_place: usize,
    pub(super) samples: i64,
    pub(super) cpu: i64,
}

impl Values {
    pub(super) fn of(profile: &Profile) -> Result<Self, String> {
        let place = |name: &str, unit: &str| {
            profile
                .sample_types()
                .position(|it| it == (name, unit))
                .ok_or_else(|| {
                    let there: Vec<_> = profile
                        .sample_types()
                        .map(|(name, unit)| format!("{name}/{unit}"))
                        .collect();
                    format!(
                        "it has no values of {name}/{unit} but of {}; captures of CPU time do",
                        there.join(", ")
                    )
                })
        };
        let mut values = Self {
            samples_place: place("samples", "count")?,
            cpu_place: place("cpu", "nanoseconds")?,
            samples: 0,
            cpu: 0,
        };
        for sample in profile.samples() {
            let (count, cpu) = (
                sample.values()[values.samples_place],
                sample.values()[values.cpu_place],
            );
            if count < 0 || cpu < 0 {
                return Err(format!(
                    "a sample has {count} counts and {cpu} ns; a recording has none below 0"
                ));
            }
            values.samples = values.samples.saturating_add(count);
            values.cpu = values.cpu.saturating_add(cpu);
        }
        Ok(values)
    }
}

impl Rows {
    /// Of rows that are sorted.
    pub(super) fn of(sorted: &[(u32, u32, i64, i64)]) -> Self {
        let mut rows = Self::default();
        let mut before = None;
        for &(stack, label, count, cpu) in sorted {
            if before == Some((stack, label)) {
                let last = rows.count.len() - 1;
                rows.count[last] = rows.count[last].saturating_add(count);
                rows.cpu[last] = rows.cpu[last].saturating_add(cpu);
                continue;
            }
            rows.stack
                .push(stack - before.map_or(0, |(stack, _)| stack));
            rows.label.push(label);
            rows.count.push(count);
            rows.cpu.push(cpu);
            before = Some((stack, label));
        }
        rows
    }
}
