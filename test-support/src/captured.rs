//! What a sampler sampled, read back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tachograph_core::testing::{InlineOffload, ManualClock, MemoryDirectory, MemoryStore};
use tachograph_core::{
    CappedWriter, Error, ErrorKind, Parts, Recorder, Sampler, SamplerInfo, Samples, Session, Span,
    Truth, Window,
};
use tachograph_profile::Profile;

/// There is one sampler in a process, so the tests of a program take turns:
/// it is one's own until the guard is dropped.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops `session` and reads what it sampled.
///
/// # Panics
///
/// If any of it fails.
pub fn finish(session: Box<dyn Session>) -> (Profile, Truth) {
    encode(session.stop().expect("it stops"))
}

/// Encodes `samples`, as those of one second, and reads them back.
///
/// # Panics
///
/// If any of it fails, also for want of room in a profile of the default size.
pub fn encode(samples: Box<dyn Samples>) -> (Profile, Truth) {
    let mut writer = CappedWriter::new(8 << 20);
    let span = Span {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
    };
    let truth = samples.encode(span, &mut writer).expect("it encodes");
    let profile = Profile::decode(&writer.into_bytes(), 256 << 20).expect("it decodes");
    (profile, truth)
}

/// A number in the comments of a profile: the one before `what`.
///
/// # Panics
///
/// If there is none.
pub fn told(profile: &Profile, what: &str) -> f64 {
    let comments: Vec<&str> = profile.comments().collect();
    let before = comments
        .iter()
        .find_map(|line| Some(line.split_once(what)?.0))
        .unwrap_or_else(|| panic!("nothing about {what} in {comments:?}"));
    let number = before.trim_end().rsplit(' ').next().expect("a word");
    number.parse().expect("a number")
}

/// A sampler that is asked for nothing but what it is.
struct Described(SamplerInfo);

impl Sampler for Described {
    fn info(&self) -> SamplerInfo {
        self.0.clone()
    }

    fn start(&self, _: u32) -> Result<Box<dyn Session>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "it only labels"))
    }
}

/// A recorder that labels tasks as `sampler` needs it and never captures, as
/// long as what comes with it (its driver, which nobody polls) lives.
///
/// # Panics
///
/// If the parts of a recorder do not fit any more.
pub fn labelling_recorder(sampler: &dyn Sampler) -> (Recorder, impl Sized + use<>) {
    let wall = SystemTime::UNIX_EPOCH;
    let window = Window::until(wall + Duration::from_secs(3600), wall)
        .expect("within 72 h")
        .expect("ahead");
    Recorder::new(Parts::new(
        window,
        Arc::new(ManualClock::new(wall)),
        Arc::new(InlineOffload),
        Arc::new(Described(sampler.info())),
        Box::new(MemoryStore::open(&MemoryDirectory::new()).expect("free")),
    ))
    .expect("the parts fit")
}
