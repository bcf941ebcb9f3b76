//! Plays random histories and prints one line.
//!
//! ```sh
//! cargo run --release -p tachograph-simulator -- --histories 10000
//! ```
//!
//! `--seed N` starts at another seed: the history of one seed alone is played
//! by `--histories 1 --seed N`. `--counts` also prints what happened in them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks")]

use std::process::ExitCode;
use std::time::Instant;

use tachograph_simulator::run;

const USAGE: &str = "usage: tachograph-simulator [--histories N] [--seed N] [--counts]";

fn main() -> ExitCode {
    let Some(asked) = Asked::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let began = Instant::now();
    let tally = run(asked.seed..asked.seed.saturating_add(asked.histories));
    let seconds = began.elapsed().as_secs_f64();
    if asked.counts {
        for (what, times) in &tally.counts {
            println!("{times:>10} {what}");
        }
    }
    for failure in &tally.failures {
        println!("{failure}");
    }
    println!(
        "{} histories from seed {}, {} captures, {seconds:.1} s, {} failures",
        tally.histories,
        asked.seed,
        tally.count("captures"),
        tally.failures.len()
    );
    if tally.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Asked {
    histories: u64,
    seed: u64,
    counts: bool,
}

impl Asked {
    fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self {
            histories: 10_000,
            seed: 1,
            counts: false,
        };
        while let Some(word) = words.next() {
            match &*word {
                "--histories" => asked.histories = words.next()?.parse().ok()?,
                "--seed" => asked.seed = words.next()?.parse().ok()?,
                "--counts" => asked.counts = true,
                _ => return None,
            }
        }
        Some(asked)
    }
}
