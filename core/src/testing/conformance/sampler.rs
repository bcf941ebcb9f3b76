use std::io::Write;
use std::time::{Duration, SystemTime};

use crate::{CappedWriter, ErrorKind, Sampler, Span};

/// The contract of [`Sampler`]. `count` reads a profile that the sampler wrote
/// and returns the sum of its `samples/count`; `work` keeps the process busy
/// for a while.
///
/// # Panics
///
/// If `sampler` breaks it.
pub fn sampler(sampler: &dyn Sampler, count: &dyn Fn(&[u8]) -> u64, work: &dyn Fn()) {
    const PROFILE_BYTES_MAX: usize = 8 << 20;
    let info = sampler.info();
    assert!(!info.name.is_empty());
    assert!((1..=1000).contains(&info.frequency_hz_max));
    let span = Span {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
    };

    // One at a time, and the second start does not disturb the first.
    let session = sampler
        .start(info.frequency_hz_max)
        .expect("a first session");
    let second = sampler.start(1).err().expect("a second session at once");
    assert_eq!(second.kind(), ErrorKind::Busy);
    work();
    session.check().expect("a session within its bounds");
    let samples = session.stop().expect("an orderly stop");

    // Stopped means stopped: another one may start before the encoding.
    let next = sampler.start(1).expect("a session after the stop");
    let mut profile = CappedWriter::new(PROFILE_BYTES_MAX);
    let truth = samples.encode(span, &mut profile).expect("a profile");
    assert_eq!(count(&profile.into_bytes()), truth.samples);

    // Dropping stops, too.
    drop(next);
    let session = sampler.start(1).expect("a session after a drop");

    // A profile that does not fit is an error and nothing worse.
    let samples = session.stop().expect("an orderly stop");
    let mut full = CappedWriter::new(1);
    full.write_all(b"x").expect("it fits");
    samples
        .encode(span, &mut full)
        .expect_err("a profile into a full writer");

    // Samples that nobody wants are dropped without a trace.
    let session = sampler.start(1).expect("a session after an overflow");
    drop(session.stop().expect("an orderly stop"));
    drop(sampler.start(1).expect("a session after dropped samples"));
}
