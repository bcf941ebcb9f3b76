//! `perf record`, which samples the workload from outside.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::stacks::{Stack, Stacks};
use super::subjects::succeed;
use crate::workload::Failure;

/// Which perf it is, if it is there.
pub(super) fn version() -> Option<String> {
    let version = succeed(Command::new("perf").arg("--version")).ok()?;
    Some(version.trim().to_owned())
}

/// Whether it is there and permitted.
pub(super) fn find(directory: &Path) -> Result<PathBuf, String> {
    let mut trial = record(&directory.join("trial.perf"), 100, false);
    trial.arg("true");
    succeed(&mut trial)?;
    Ok("perf".into())
}

/// The beginning of a command that records `hz` samples a second; with stacks
/// that need no frame pointers, or without.
pub(super) fn record(output: &Path, hz: u32, stacks: bool) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "--quiet", "-e", "cpu-clock", "-F"]);
    command.arg(hz.to_string()).arg("-o").arg(output);
    if stacks {
        command.args(["--call-graph", "dwarf,16384"]);
    }
    command.arg("--");
    command
}

/// Reads what was recorded.
pub(super) fn read(recorded: &Path) -> Result<Stacks, Failure> {
    let mut script = Command::new("perf");
    script
        .args(["script", "--no-inline", "-F", "comm,ip,sym", "-i"])
        .arg(recorded);
    Ok(Stacks::new(parse(&succeed(&mut script)?)))
}

/// A line with the thread's name, then one with a tab for each frame, leaf first,
/// then an empty one. A sample without stack is one line: name, address and symbol.
fn parse(script: &str) -> Vec<Stack> {
    let mut stacks = Vec::new();
    let mut present: Option<Stack> = None;
    for line in script.lines() {
        if line.trim().is_empty() {
            stacks.extend(present.take());
        } else if let (true, Some(stack)) = (line.starts_with('\t'), &mut present) {
            stack.frames.extend(symbol(line));
        } else {
            stacks.extend(present.take());
            let (name, frame) = head(line);
            present = Some(Stack {
                thread: name.to_owned(),
                task: None,
                frames: frame.into_iter().collect(),
                count: 1.0,
            });
        }
    }
    stacks.extend(present);
    stacks
}

/// `    55d0c0ffee00 name of the function`.
fn symbol(line: &str) -> Option<String> {
    let (_, symbol) = line.trim().split_once(' ')?;
    Some(symbol.trim().to_owned())
}

fn head(line: &str) -> (&str, Option<String>) {
    let line = line.trim();
    match line.split_once(char::is_whitespace) {
        None => (line, None),
        Some((name, frame)) => (name, symbol(frame)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_with_and_without_stacks_are_read() {
        let script = "          busy-0 \n\t    1234 spin_hot\n\t    5678 burn\n\n          busy-1      9abc spin_hot\n";
        let stacks = parse(script);
        let shown: Vec<_> = stacks
            .iter()
            .map(|stack| (stack.thread.as_str(), stack.frames.join(" < ")))
            .collect();
        assert_eq!(
            shown,
            [
                ("busy-0", "spin_hot < burn".to_owned()),
                ("busy-1", "spin_hot".to_owned())
            ]
        );
    }
}
