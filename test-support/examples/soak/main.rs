//! Both samplers under torture for as long as you like.
//!
//! ```sh
//! cargo run --release -p tachograph-test-support --features suites --example soak -- 60
//! ```
//!
//! runs every scenario for so many seconds under each sampler at its highest
//! frequency, each in a process of its own, and prints its figures in one line. What
//! follows the seconds chooses: a sampler, `linux` or `pprof`, and then a scenario. It
//! fails if there was a crash, a hang or a wrong result.

#![allow(clippy::print_stdout, reason = "a command talks")]

#[cfg(target_os = "linux")]
mod soak;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    soak::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the scenarios are for Linux");
}
