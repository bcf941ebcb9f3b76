//! From counted stacks to a profile.

use std::collections::HashMap;

use tachograph_core::labels::Label;
use tachograph_core::{CappedWriter, Error, ErrorKind, Span, Truth};
use tachograph_profile::{Labels, Profile, ProfileBuilder, ProfileMeta};

use super::drain::Harvest;
use super::session::LinuxSamples;

pub(crate) fn encode(
    samples: LinuxSamples,
    span: Span,
    profile: &mut CappedWriter,
) -> Result<Truth, Error> {
    let failed = |error: tachograph_profile::Error| {
        Error::new(ErrorKind::Sampling, "cannot make the profile").with_source(error)
    };
    let Harvest {
        modules,
        tree,
        coverage,
    } = samples.harvest;
    let frequency_hz = samples.frequency_hz;
    let (modules, addresses) = modules.into_profile();
    let mut tasks: HashMap<Label, Option<String>> = HashMap::new();
    let mut stack = Vec::new();
    let mut builder = ProfileBuilder::new(ProfileMeta {
        started_at: span.started_at,
        duration: span.duration,
        frequency_hz,
    });
    tree.each(|frames, label, thread_name, count| {
        stack.clear();
        stack.extend(frames.iter().map(|frame| addresses.of(*frame)));
        let name = thread_name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        let thread = String::from_utf8_lossy(name);
        let task = tasks.entry(label).or_insert_with(|| label.name());
        let labels = Labels {
            thread: Some(&*thread).filter(|name| !name.is_empty()),
            task: task.as_deref(),
        };
        builder.add(&stack, labels, count);
    });
    drop(tree);

    let executable_build_id = modules.executable_build_id().map(str::to_owned);
    // Each sample is worth one period, and not scaled to the CPU time used: what
    // was not sampled is missing rather than somebody else's.
    let finished = builder.finish(&modules, samples.names, None);
    commented(finished, &coverage.lines(frequency_hz))
        .and_then(|finished| finished.encode_gz(profile))
        .map_err(failed)?;
    Ok(Truth {
        samples: coverage.kept,
        lost: coverage.lost(frequency_hz),
        executable_build_id,
        coverage: Some(coverage.told(frequency_hz)),
    })
}

fn commented(profile: Profile, lines: &[String]) -> tachograph_profile::Result<Profile> {
    let mut message = profile.into_message();
    for line in lines {
        message.comment.push(message.string_table.len() as i64);
        message.string_table.push(line.clone());
    }
    Profile::from_message(message)
}
