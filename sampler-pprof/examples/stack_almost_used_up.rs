//! A thread that the `pprof` crate samples where little of its stack is left dies of
//! a stack overflow: the crate's handler runs on the stack of whom it interrupts,
//! and needs about 20 KiB of it. This is how the crate works; nothing that stands on it
//! can prevent it.
//!
//! ```sh
//! cargo run -p tachograph-sampler-pprof --example stack_almost_used_up
//! ```

#![allow(clippy::print_stdout, reason = "an example talks")]

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Duration;

    use tachograph_sampler_pprof::PprofSampler;
    use tachograph_test_support::torture::{Subject, recursion};

    let sampler = PprofSampler::new();
    let subject = Subject {
        // More than the work itself needs, which goes on without a sampler.
        stack_bytes_left: 2_500,
        ..Subject::pprof(&sampler)
    };
    println!("{}", recursion(subject, Duration::from_secs(5)));
    println!("lived");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
