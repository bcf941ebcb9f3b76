//! The project's samplers, as the workload sees them.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use tachograph_core::{CappedWriter, Sampler, Session, Span};
use tachograph_sampler_linux::LinuxSampler;
use tachograph_sampler_pprof::PprofSampler;

use crate::workload::Failure;
use crate::workload::profiler::{Profiler, Running};

/// The sampler of that name; `None` for `none`.
pub(super) fn by_name(name: &str) -> Result<Option<Arc<dyn Sampler>>, Failure> {
    match name {
        "none" => Ok(None),
        "linux" => Ok(Some(Arc::new(LinuxSampler::new()))),
        "linux-events" => {
            refuse_timers()?;
            Ok(Some(Arc::new(LinuxSampler::new())))
        }
        "pprof" => Ok(Some(Arc::new(PprofSampler::new()))),
        _ => Err(format!("no such sampler: {name}").into()),
    }
}

/// Has the kernel refuse `timer_create` to this process from now on, as a seccomp
/// filter around a service may.
fn refuse_timers() -> io::Result<()> {
    let statement = |code: u32, not: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: not,
        k,
    };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut program = [
        // The number of the system call is the first word.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            libc::SYS_timer_create as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, refusal),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program lives through the calls, which change nothing but what
    // this process may do.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    if !refused {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A sampler without a recorder around it.
pub(super) struct Sampled {
    sampler: Arc<dyn Sampler>,
}

impl Sampled {
    pub(super) fn new(sampler: Arc<dyn Sampler>) -> Self {
        Self { sampler }
    }
}

impl Profiler for Sampled {
    fn start(&self, hz: u32) -> Result<Box<dyn Running>, Failure> {
        Ok(Box::new(Capture {
            started_at: SystemTime::now(),
            session: self.sampler.start(hz)?,
        }))
    }
}

struct Capture {
    started_at: SystemTime,
    session: Box<dyn Session>,
}

impl Running for Capture {
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Failure> {
        let samples = self.session.stop()?;
        let span = Span {
            started_at: self.started_at,
            duration: self.started_at.elapsed()?,
        };
        // The default limit of a profile.
        let mut writer = CappedWriter::new(8 << 20);
        samples.encode(span, &mut writer)?;
        Ok(writer.into_bytes())
    }
}
