//! A sampler in a library that is loaded at run time, as a plugin or an
//! extension module is. `tests/process.rs` loads it.

use std::time::{Duration, SystemTime};
use std::{mem, thread};

use tachograph_core::labels::{self, Label};
use tachograph_core::{CappedWriter, Name, Sampler, Span};
use tachograph_profile::Profile;
use tachograph_sampler_linux::LinuxSampler;

/// Samples labelled work of a second, and returns which part of its samples
/// has the label.
#[unsafe(no_mangle)]
pub extern "C" fn sample_with_labels() -> f64 {
    let session = LinuxSampler::new().start(1000).expect("free");
    let workers = [0, 1].map(|_| {
        thread::spawn(|| {
            let label = Label::intern(&Name::new("in-library").expect("valid"));
            labels::with(label, || {
                let until = thread_cpu() + Duration::from_secs(1);
                while thread_cpu() < until {}
            });
        })
    });
    for worker in workers {
        worker.join().expect("it works");
    }
    let samples = session.stop().expect("it stops");
    let mut writer = CappedWriter::new(8 << 20);
    let span = Span {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
    };
    samples.encode(span, &mut writer).expect("it encodes");
    let profile = Profile::decode(&writer.into_bytes(), 64 << 20).expect("it decodes");
    let by_task = profile.by_label("task", "samples");
    let labelled = by_task.get(&Some("in-library".into())).copied();
    labelled.unwrap_or(0) as f64 / 2000.0
}

fn thread_cpu() -> Duration {
    // SAFETY: all zeroes is a valid timespec, and the call writes it.
    unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}
