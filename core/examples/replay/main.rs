//! Replays runs of a recorder: reads on standard input one JSON object a line
//! that says what was asked of it (`window_ms`, `stop_ms`, `fail_nth`,
//! `requests`), lets the real recorder do it on a manual clock, a memory store
//! and a scripted sampler, and prints the line again with what it did
//! (`captures`, `ended_ms`, `failed`).
//!
//! ```sh
//! cargo run -q -p tachograph-core --features testing --example replay \
//!     < tests/vectors/schedule.jsonl
//! ```

mod run;

use std::error::Error;
use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    for (number, line) in (1..).zip(io::stdin().lock().lines()) {
        let asked: run::Run =
            serde_json::from_str(&line?).map_err(|error| format!("line {number}: {error}"))?;
        let (did, _) = run::run(&asked).map_err(|error| format!("line {number}: {error}"))?;
        serde_json::to_writer(&mut output, &did)?;
        writeln!(output)?;
    }
    output.flush()?;
    Ok(())
}
