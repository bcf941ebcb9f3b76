//! From the crate's report to a profile.

use std::collections::HashMap;

use tachograph_core::labels::Label;
use tachograph_core::{CappedWriter, Error, ErrorKind, Span, Truth};
use tachograph_profile::{Labels, LoadedModules, ProfileBuilder, ProfileMeta};

use crate::markers::Markers;
use crate::session::PprofSamples;

/// The crate keeps so many frames of a stack, from the leaf on.
const FRAMES_MAX: usize = 128;

/// The task of a stack that was cut before its task could be seen.
const TASK_UNKNOWN: &str = "(unknown: stack cut)";

pub(crate) fn encode(
    samples: PprofSamples,
    span: Span,
    profile: &mut CappedWriter,
) -> Result<Truth, Error> {
    let failed = |error: tachograph_profile::Error| {
        Error::new(ErrorKind::Sampling, "cannot make the profile").with_source(error)
    };
    let modules = LoadedModules::current().map_err(failed)?;
    let markers = Markers::learn();
    let mut tasks: HashMap<Label, Option<String>> = HashMap::new();
    let mut builder = ProfileBuilder::new(ProfileMeta {
        started_at: span.started_at,
        duration: span.duration,
        frequency_hz: samples.frequency_hz,
    });
    let mut counted = 0;
    for (stack, count) in &samples.report.data {
        let count = u64::try_from(*count).unwrap_or(0);
        let name = &stack.thread_name[..stack.thread_name_length];
        let thread = String::from_utf8_lossy(name);
        let mut addresses: Vec<u64> = stack.frames.iter().map(|frame| frame.ip as u64).collect();
        let is_cut = addresses.len() >= FRAMES_MAX;
        let task = match markers.strip(&mut addresses) {
            Some(label) => tasks
                .entry(label)
                .or_insert_with(|| label.name())
                .as_deref(),
            // The marker may have been among the frames that are missing.
            None if is_cut => Some(TASK_UNKNOWN),
            None => None,
        };
        let labels = Labels {
            thread: Some(&thread)
                .filter(|name| !name.is_empty())
                .map(|name| &**name),
            task,
        };
        builder.add(&addresses, labels, count);
        counted += count;
    }
    drop(samples.report);

    let executable_build_id = modules.executable_build_id().map(str::to_owned);
    builder
        .finish(&modules, samples.names, Some(samples.cpu))
        .encode_gz(profile)
        .map_err(failed)?;
    Ok(Truth {
        samples: counted,
        lost: expected(samples.cpu.as_nanos(), samples.frequency_hz).saturating_sub(counted),
        executable_build_id,
        coverage: None,
    })
}

/// How many samples CPU time is worth, rounded down: less than one period is
/// not a sample that was lost.
fn expected(cpu_nanos: u128, frequency_hz: u32) -> u64 {
    let samples = cpu_nanos * u128::from(frequency_hz) / 1_000_000_000;
    u64::try_from(samples).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::expected;

    #[test]
    fn lost_samples_are_whole_ones() {
        assert_eq!(expected(999_999_999, 1), 0);
        assert_eq!(expected(1_000_000_000, 1), 1);
        assert_eq!(expected(30_009_000_000, 100), 3000);
    }
}
