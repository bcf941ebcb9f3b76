//! Runs subjects, each in a process of its own, and never two at a time.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::options::Options;
use super::perf;
use super::rows::TIME_MAX;
use super::stacks::Stacks;
use super::subjects::{Subject, Subjects};
use crate::SUBJECT;
use crate::workload::Failure;

/// No case takes half as long.
const RUN_TIME_MAX: Duration = Duration::from_secs(60);

/// Everything that it takes to measure.
pub(crate) struct Bench {
    pub(crate) subjects: Subjects,
    pub(crate) quick: bool,
    directory: tempfile::TempDir,
    deadline: Instant,
    repeat_until: Instant,
    /// How many repetitions were left out, since time was short.
    pub(crate) left_out: usize,
    /// What did not run, and why; each once.
    pub(crate) failures: Vec<String>,
}

/// What a subject said, and what was sampled of it.
pub(crate) struct Run {
    numbers: BTreeMap<String, f64>,
    pub(crate) stacks: Stacks,
    /// CPU seconds of the profiler, if that is another process.
    pub(crate) outside: f64,
}

impl Run {
    /// A number that the subject reported; not a number if it did not.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(f64::NAN)
    }
}

impl Bench {
    pub(crate) fn new(subjects: Subjects, options: &Options) -> Result<Self, Failure> {
        Ok(Self {
            subjects,
            quick: options.quick,
            directory: tempfile::tempdir()?,
            deadline: Instant::now() + TIME_MAX,
            repeat_until: Instant::now(),
            left_out: 0,
            failures: Vec::new(),
        })
    }

    /// `full`, or next to nothing where all that counts is that it runs.
    pub(crate) fn seconds(&self, full: f64) -> f64 {
        if self.quick { full.min(0.12) } else { full }
    }

    /// How often to measure, of `full` times.
    fn times(&self, full: usize) -> usize {
        if self.quick { 1 } else { full }
    }

    /// From then on everything is measured once only.
    pub(crate) fn repeat_until(&mut self, until: Instant) {
        self.repeat_until = until;
    }

    /// Runs `case` under `subject` up to `times` times. Fewer if time is short
    /// or it fails, which is noted.
    pub(crate) fn runs(
        &mut self,
        times: usize,
        subject: Subject,
        case: &str,
        values: &[(&str, f64)],
    ) -> Vec<Run> {
        let mut runs = Vec::new();
        let times = self.times(times);
        for time in 0..times {
            if time > 0 && Instant::now() > self.repeat_until {
                self.left_out += times - time;
                break;
            }
            match self.run(subject, case, values) {
                Ok(run) => runs.push(run),
                Err(error) => {
                    let failure = format!("{} under {}: {error}", case, subject.name());
                    let is_missing = self.subjects.program(subject).is_err();
                    if !is_missing && !self.failures.contains(&failure) {
                        eprintln!("  {failure}");
                        self.failures.push(failure);
                    }
                    break;
                }
            }
        }
        runs
    }

    fn run(&self, subject: Subject, case: &str, values: &[(&str, f64)]) -> Result<Run, Failure> {
        if Instant::now() > self.deadline {
            return Err("not run, since time was up".into());
        }
        let program = self.subjects.program(subject)?;
        let profile = self.directory.path().join("profile");
        // Of the run before.
        drop(std::fs::remove_file(&profile));
        let mut command = match subject {
            Subject::Perf => self.perf(case, values),
            _ => Command::new(program),
        };
        if !matches!(subject, Subject::Crate | Subject::Go) {
            command.arg(SUBJECT);
        }
        command.arg(case);
        for (name, value) in values {
            command.arg(format!("--{name}")).arg(value.to_string());
        }
        if subject != Subject::Perf {
            command.arg("--profile").arg(&profile);
        }
        match subject {
            Subject::Linux => drop(command.args(["--sampler", "linux"])),
            Subject::LinuxEvents => drop(command.args(["--sampler", "linux-events"])),
            Subject::Pprof => drop(command.args(["--sampler", "pprof"])),
            _ => {}
        }
        let before = children_cpu();
        let output = finish(command)?;
        let cpu = children_cpu() - before;
        let line = output.lines().last().ok_or("it said nothing")?;
        let numbers: BTreeMap<String, f64> = serde_json::from_str(line)?;
        let (stacks, outside) = match subject {
            Subject::Perf => {
                let own = numbers.get("process").copied().unwrap_or(f64::NAN);
                (perf::read(&self.recorded())?, cpu - own)
            }
            _ => match std::fs::read(&profile) {
                Ok(bytes) if !bytes.is_empty() => (Stacks::of_profile(&bytes)?, 0.0),
                _ => (Stacks::default(), 0.0),
            },
        };
        Ok(Run {
            numbers,
            stacks,
            outside,
        })
    }

    fn recorded(&self) -> PathBuf {
        self.directory.path().join("perf.data")
    }

    /// `perf record` of this program without a sampler. Stacks are recorded
    /// where they are what is measured.
    fn perf(&self, case: &str, values: &[(&str, f64)]) -> Command {
        let hz = values
            .iter()
            .find_map(|(name, value)| (*name == "hz").then_some(*value as u32));
        let stacks = matches!(case, "roots" | "cost");
        let mut command = perf::record(&self.recorded(), hz.unwrap_or(100), stacks);
        command.arg(&self.subjects.own);
        command
    }
}

/// Runs a command and returns what it printed; ends it if it takes too long.
fn finish(mut command: Command) -> Result<String, Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdout = child.stdout.take().ok_or("no output")?;
    let mut stderr = child.stderr.take().ok_or("no output")?;
    let (said, said_all) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let result = stdout.read_to_string(&mut text).map(|_| text);
        // Nobody listens any more if it took too long.
        drop(said.send(result));
    });
    let errors = thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let Ok(output) = said_all.recv_timeout(RUN_TIME_MAX) else {
        child.kill()?;
        child.wait()?;
        return Err(format!("it took more than {} s", RUN_TIME_MAX.as_secs()).into());
    };
    let status = child.wait()?;
    if status.success() {
        return Ok(output?);
    }
    let errors = errors.join().map_err(|_| "no output")??;
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    Err(format!("{status}: {}", last.unwrap_or("it said nothing")).into())
}

/// CPU seconds of all children that have ended.
pub(super) fn children_cpu() -> f64 {
    // SAFETY: all zeroes is a valid value, and the call writes it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
