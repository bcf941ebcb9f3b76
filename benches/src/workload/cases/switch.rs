//! Two threads on one CPU that pass a byte to and fro, each asleep until it comes.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Mutex;
use std::time::Duration;

use crate::workload::Failure;
use crate::workload::args::Args;
use crate::workload::clock::{nanos, thread_cpu};
use crate::workload::crew::Crew;
use crate::workload::profiler::Profiler;
use crate::workload::report::{Report, quantile};

/// Round trips that are timed together.
const TRIPS: usize = 500;

/// Where a thread gets the byte and where it passes it on.
struct Ends {
    from: PipeReader,
    to: PipeWriter,
}

pub(super) fn run(profiler: &dyn Profiler, args: &Args) -> Result<Report, Failure> {
    let seconds = args.seconds()?;
    let (there, back) = (io::pipe()?, io::pipe()?);
    let first = Ends {
        from: back.0,
        to: there.1,
    };
    let second = Ends {
        from: there.0,
        to: back.1,
    };
    let ends = Mutex::new([Some(first), Some(second)]);
    let crew = Crew::new(2, move |number| {
        let ends = ends.lock().ok().and_then(|mut ends| ends[number].take());
        let mut ends = ends.ok_or(io::ErrorKind::NotFound)?;
        stay_on_first_cpu()?;
        match number {
            0 => begin(&mut ends, seconds),
            _ => answer(&mut ends).map(|()| Vec::new()),
        }
    })?;
    let running = profiler.start(args.hz()?)?;
    crew.work();
    let profile = running.finish()?;

    args.keep_profile(&profile)?;
    let mut report = Report::default();
    for times in crew.end() {
        let mut times = times?;
        if !times.is_empty() {
            report.number("switch ns", quantile(&mut times, 0.5));
        }
    }
    Ok(report)
}

/// The nanoseconds of a switch, for each [`TRIPS`] of them.
fn begin(ends: &mut Ends, seconds: Duration) -> io::Result<Vec<f64>> {
    let until = thread_cpu() + seconds;
    let mut times = Vec::new();
    let mut byte = [1];
    while thread_cpu() < until {
        let start = nanos();
        for _ in 0..TRIPS {
            ends.to.write_all(&byte)?;
            ends.from.read_exact(&mut byte)?;
        }
        times.push((nanos() - start) as f64 / (2 * TRIPS) as f64);
    }
    ends.to.write_all(&[0])?;
    Ok(times)
}

/// Passes back what comes, until that is a zero.
fn answer(ends: &mut Ends) -> io::Result<()> {
    let mut byte = [1];
    loop {
        ends.from.read_exact(&mut byte)?;
        if byte == [0] {
            return Ok(());
        }
        ends.to.write_all(&byte)?;
    }
}

fn stay_on_first_cpu() -> io::Result<()> {
    // SAFETY: a set of zeroes is an empty one; the calls read and write it alone.
    let result = unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut allowed);
        let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        let mut only: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(first.unwrap_or(0), &mut only);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const only)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
