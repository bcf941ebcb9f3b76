//! The bare `pprof` crate, used as its README does, under the workload of the
//! benches: the peer to which the project's samplers are compared.
//!
//! Its README's frequency is 1000 Hz; here the harness says which. Its profile is
//! encoded, as the section on `pprof` there has it.

#[path = "../../src/workload/mod.rs"]
#[allow(dead_code, reason = "shared with a subject that uses more of it")]
mod workload;

use pprof::protos::Message;
use workload::Failure;
use workload::args::Args;
use workload::cases;
use workload::profiler::{Profiler, Running};

struct Crate;

impl Profiler for Crate {
    fn start(&self, hz: u32) -> Result<Box<dyn Running>, Failure> {
        let guard = pprof::ProfilerGuardBuilder::default()
            .frequency(hz as i32)
            .blocklist(&["libc", "libgcc", "pthread", "vdso"])
            .build()?;
        Ok(Box::new(Guard(guard)))
    }
}

struct Guard(pprof::ProfilerGuard<'static>);

impl Running for Guard {
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Failure> {
        let report = self.0.report().build()?;
        let mut bytes = Vec::new();
        report.pprof()?.encode(&mut bytes)?;
        Ok(bytes)
    }
}

fn main() -> Result<(), Failure> {
    let args = Args::parse(std::env::args().skip(1))?;
    let report = cases::run(&Crate, &args).ok_or("no such case")??;
    println!("{}", report.line());
    Ok(())
}
