//! Folded stacks: root first, semicolons between, a number behind.

use std::io::{self, Write};

use tachograph_profile::reader::Frame;

use super::Converted;
use crate::names;
use crate::output::escaped;

/// A frame's name without what has a meaning in folded stacks.
pub(crate) fn folded_name(frame: &Frame, full: bool) -> String {
    escaped(&names::name(frame, full)).replace(';', ":")
}

pub(super) fn write(converted: &Converted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = (0..converted.frames.len() as u32)
        .map(|it| folded_name(converted.frames.get(it), converted.full_names))
        .collect();
    let mut outcome = Ok(());
    for thread in &converted.threads {
        thread.tree.stacks(0, |stack, [value]| {
            if outcome.is_ok() {
                outcome = line(out, stack, &names, value);
            }
        });
    }
    outcome
}

fn line(out: &mut dyn Write, stack: &[u32], names: &[String], value: i64) -> io::Result<()> {
    match stack {
        [] => write!(out, "[no stack]")?,
        [root, rest @ ..] => {
            write!(out, "{}", names[*root as usize])?;
            for frame in rest {
                write!(out, ";{}", names[*frame as usize])?;
            }
        }
    }
    writeln!(out, " {value}")
}
