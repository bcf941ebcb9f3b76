//! The processed profile format of the Firefox Profiler.

use std::io::{self, Write};
use std::time::Duration;

use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, StringHandle, ThreadHandle, Timestamp, WeightType,
};

use super::{Converted, Thread};
use crate::names;
use crate::units;

const NANOS_PER_MILLI: f64 = 1e6;

pub(super) fn write(converted: &Converted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let start = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let mut profile = Profile::new(converted.kind, start, SamplingInterval::from_millis(1));
    profile.set_symbolicated(true);
    let process = profile.add_process(converted.kind, 1, at(0.0));
    let names: Vec<StringHandle> = (0..converted.frames.len() as u32)
        .map(|it| names::name(converted.frames.get(it), converted.full_names))
        .map(|name| profile.intern_string(&name))
        .collect();
    for (number, thread) in (1..).zip(&converted.threads) {
        let handle = profile.add_thread(process, number, at(0.0), false);
        let name = match thread.name.as_str() {
            "" => "(no thread)",
            name => name,
        };
        profile.set_thread_name(handle, name);
        add_samples(&mut profile, handle, thread, &names, converted);
    }
    serde_json::to_writer(&mut *out, &profile).map_err(io::Error::from)?;
    writeln!(out)
}

/// Samples follow each other in the order of the tree: when each was taken is not in a
/// profile.
fn add_samples(
    profile: &mut Profile,
    handle: ThreadHandle,
    thread: &Thread,
    names: &[StringHandle],
    converted: &Converted<'_>,
) {
    let seconds = units::seconds_in(converted.unit);
    let weights = match (seconds, converted.unit) {
        (Some(_), _) => WeightType::TracingMs,
        (None, "bytes") => WeightType::Bytes,
        (None, _) => WeightType::Samples,
    };
    profile.set_thread_samples_weight_type(handle, weights);
    // Weights are whole there, and times are in milliseconds: what is rounded is the
    // sum so far, so that nothing is lost on the way.
    let mut sum = 0.0;
    let mut given = 0_i64;
    // CPU time is what was used since the sample before: there must be one.
    profile.add_sample(handle, at(0.0), None, CpuDelta::ZERO, 0);
    thread.tree.stacks(0, |stack, [value]| {
        let frames = stack.iter().map(|&number| FrameInfo {
            frame: Frame::Label(names[number as usize]),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        });
        let frames: Vec<FrameInfo> = frames.collect();
        let stack = profile.intern_stack_frames(handle, frames.into_iter());
        let millis = seconds.map_or(value as f64, |it| value as f64 * it * 1e3);
        sum += millis;
        let mut left = sum.round() as i64 - given;
        given += left;
        let used = CpuDelta::from_nanos(match seconds {
            Some(_) => (millis.max(0.0) * NANOS_PER_MILLI) as u64,
            None => 0,
        });
        loop {
            let weight = left.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
            profile.add_sample(handle, at(sum.max(0.0)), stack, used, weight as i32);
            left -= weight;
            if left == 0 {
                break;
            }
        }
    });
}

fn at(millis: f64) -> Timestamp {
    Timestamp::from_millis_since_reference(millis)
}
