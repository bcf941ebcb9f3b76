//! Prints a profile as folded stacks, root first, with the task and the thread
//! in front: what flame graph tools read.
//!
//! ```sh
//! cargo run -q -p tachograph-profile --example folded -- CAPTURE.pprof \
//!     | inferno-flamegraph > flame.svg
//! ```

#![allow(clippy::print_stdout, reason = "it prints")]

use std::error::Error;

use tachograph_profile::Profile;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).ok_or("name a profile")?;
    let profile = Profile::decode(&std::fs::read(file)?, 1 << 30)?;
    let last = profile.sample_types().len() - 1;
    let (weight, _) = profile.sample_types().nth(last).ok_or("no sample type")?;
    for sample in profile.samples() {
        let task = sample.label("task").unwrap_or("(no task)");
        let thread = sample.label("thread").unwrap_or("(no name)");
        let mut stack: Vec<&str> = sample.stack().collect();
        stack.push(thread);
        stack.push(task);
        stack.reverse();
        // Semicolons separate frames there.
        let stack: Vec<String> = stack.iter().map(|it| it.replace(';', ":")).collect();
        println!("{} {}", stack.join(";"), sample.value(weight).unwrap_or(0));
    }
    Ok(())
}
