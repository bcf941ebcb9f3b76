//! What the tests of this crate share. Not every one uses all of it.

#![allow(dead_code)]

use std::hint::black_box;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, mem, thread};

use tachograph_core::{CappedWriter, Sampler, Samples, Session, Span, Truth};
use tachograph_profile::Profile;
use tachograph_sampler_linux::LinuxSampler;

/// There is one sampler in a process, so tests take turns.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn start(frequency_hz: u32) -> Box<dyn Session> {
    LinuxSampler::new()
        .start(frequency_hz)
        .expect("nobody else samples")
}

pub(crate) fn finish(session: Box<dyn Session>) -> (Profile, Truth) {
    encode(session.stop().expect("it stops"))
}

pub(crate) fn encode(samples: Box<dyn Samples>) -> (Profile, Truth) {
    let mut writer = CappedWriter::new(64 << 20);
    let span = Span {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
    };
    let truth = samples.encode(span, &mut writer).expect("it encodes");
    let profile = Profile::decode(&writer.into_bytes(), 256 << 20).expect("it decodes");
    (profile, truth)
}

fn clock(clock: libc::clockid_t) -> Duration {
    // SAFETY: all zeroes is a valid timespec, and the call writes it.
    unsafe {
        let mut time: libc::timespec = mem::zeroed();
        assert_eq!(libc::clock_gettime(clock, &raw mut time), 0);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

pub(crate) fn thread_cpu() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub(crate) fn process_cpu() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Uses `cpu` of CPU time in this very function, whatever the machine does
/// meanwhile.
#[inline(never)]
pub(crate) fn burn_as_leaf(cpu: Duration) -> u64 {
    let until = thread_cpu() + cpu;
    let mut state = 1_u64;
    while thread_cpu() < until {
        // Nothing here is a call, also without optimisation.
        let mut round = 0;
        while round < 200_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            round += 1;
        }
        black_box(state);
    }
    state
}

/// A number in the comments of a profile: the one before `what`.
pub(crate) fn told(profile: &Profile, what: &str) -> f64 {
    let comments: Vec<&str> = profile.comments().collect();
    let before = comments
        .iter()
        .find_map(|line| Some(line.split_once(what)?.0))
        .unwrap_or_else(|| panic!("nothing about {what} in {comments:?}"));
    let number = before.trim_end().rsplit(' ').next().expect("a word");
    number.parse().expect("a number")
}

/// Lets `count` threads work, each again and again, until the process has used
/// `cpu`; so a slow machine is tried no less.
pub(crate) fn work_on_threads(count: usize, cpu: Duration, work: impl Fn() + Sync) {
    let until = process_cpu() + cpu;
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while process_cpu() < until {
                    work();
                }
            });
        }
    });
}

const CASE: &str = "TACHOGRAPH_TEST_CASE";

/// How long a case may take before its process is ended.
const SECONDS_MAX: u32 = 300;

/// Runs `case` in a process of its own: this program, started again with the
/// name of the test.
pub(crate) fn in_own_process(name: &str, case: impl FnOnce()) {
    if let Some(output) = own_process(name, case) {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{name}: {}\n{errors}",
            output.status
        );
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The same for a process that need not end well. Nothing in the process
/// itself.
pub(crate) fn own_process(name: &str, case: impl FnOnce()) -> Option<Output> {
    if env::var_os(CASE).is_some() {
        // SAFETY: a hanging case ends with the default action of a signal.
        unsafe { libc::alarm(SECONDS_MAX) };
        case();
        return None;
    }
    let program = env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(CASE, name)
        .output()
        .expect("it runs");
    Some(output)
}
