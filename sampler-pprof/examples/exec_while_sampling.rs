//! A process that replaces itself by `exec` while the `pprof` crate samples it is
//! killed: the interval timer survives, its handler does not. This is how the crate
//! works; nothing that stands on it can prevent it.
//!
//! ```sh
//! cargo run -p tachograph-sampler-pprof --example exec_while_sampling
//! ```

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use tachograph_core::Sampler;
    use tachograph_sampler_pprof::PprofSampler;

    let _session = PprofSampler::new().start(100)?;
    // It uses CPU time, which is what the timer counts.
    let script = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; echo lived";
    Err(Command::new("sh").args(["-c", script]).exec().into())
}

#[cfg(not(unix))]
fn main() {}
