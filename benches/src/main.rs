//! Measures Tachograph's samplers and their peers side by side, in one run.
//!
//! ```sh
//! cargo run --release -p tachograph-benches              # all of it; under 10 minutes
//! cargo run --release -p tachograph-benches -- --quick   # does every case run?
//! ```
//!
//! It prints a table and writes `BENCHMARKS.md`. Whatever is measured is
//! measured in a process of its own, a *subject*: this program again, or a peer
//! that it builds first.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks")]

#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod subject;
#[cfg(target_os = "linux")]
mod workload;

/// The first argument of a subject.
#[cfg(target_os = "linux")]
const SUBJECT: &str = "subject";

#[cfg(target_os = "linux")]
fn main() -> Result<(), workload::Failure> {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == SUBJECT).is_some() {
        return subject::main(words);
    }
    harness::main(words)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("these benches measure on Linux only");
}
