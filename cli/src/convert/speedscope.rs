//! The file format of speedscope: frames by number, stacks root first, weights.

use std::io::{self, Write};

use serde::Serialize;

use super::Converted;
use crate::names;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: &'a str,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Sampled<'a>>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<FrameOf>,
}

#[derive(Serialize)]
struct FrameOf {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    r#type: &'static str,
    name: &'a str,
    unit: &'static str,
    start_value: i64,
    end_value: i64,
    samples: Vec<Vec<u32>>,
    weights: Vec<i64>,
}

pub(super) fn write(converted: &Converted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let frames = (0..converted.frames.len() as u32)
        .map(|number| FrameOf {
            name: names::name(converted.frames.get(number), converted.full_names),
        })
        .collect();
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for thread in &converted.threads {
        thread.tree.stacks(0, |stack, [value]| {
            // Weights below zero have no place on its axis.
            if value > 0 {
                samples.push(stack.to_vec());
                weights.push(value);
            }
        });
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("tachograph {}", env!("CARGO_PKG_VERSION")),
        name: converted.kind,
        active_profile_index: 0,
        shared: Shared { frames },
        profiles: vec![Sampled {
            r#type: "sampled",
            name: converted.kind,
            unit: unit(converted.unit),
            start_value: 0,
            end_value: weights
                .iter()
                .fold(0, |sum: i64, it| sum.saturating_add(*it)),
            samples,
            weights,
        }],
    };
    serde_json::to_writer(&mut *out, &file).map_err(io::Error::from)?;
    writeln!(out)
}

/// The units that speedscope knows.
fn unit(unit: &str) -> &'static str {
    match unit {
        "nanoseconds" => "nanoseconds",
        "microseconds" => "microseconds",
        "milliseconds" => "milliseconds",
        "seconds" => "seconds",
        "bytes" => "bytes",
        _ => "none",
    }
}
