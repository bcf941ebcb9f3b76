//! Tests in a process of their own: what kills it, hangs it or changes what
//! belongs to a whole process touches no other test.

use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, thread};

const CASE: &str = "TACHOGRAPH_TEST_CASE";

/// How long a case may take before it is said to hang: many times what it takes,
/// since others may have the processors.
const CASE_TIME_MAX: Duration = Duration::from_secs(900);

/// Runs `case` in a process of its own: this program, started again with the
/// name of the test.
///
/// # Panics
///
/// If that process does not end well.
pub fn in_own_process(test: &str, case: impl FnOnce()) {
    if let Some(output) = own_process(test, |_| {}, case) {
        assert!(
            output.status.success(),
            "{test}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let said = String::from_utf8_lossy(&output.stdout);
        // What was measured, without what the test runner says.
        #[allow(clippy::print_stdout, reason = "the output of a test")]
        {
            print!("{said}");
        }
    }
}

/// The same for a process that need not end well, whose command `prepare` may
/// add to. Returns nothing in the process itself.
///
/// # Panics
///
/// If the process cannot be started, or hangs.
pub fn own_process(
    test: &str,
    prepare: impl FnOnce(&mut Command),
    case: impl FnOnce(),
) -> Option<Output> {
    if env::var_os(CASE).is_some() {
        case();
        return None;
    }
    let program = env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture"])
        .env(CASE, test);
    prepare(&mut command);
    let output = run_alone(&mut command, CASE_TIME_MAX).expect("it runs");
    Some(output.unwrap_or_else(|| panic!("{test}: it hangs, for {CASE_TIME_MAX:?}")))
}

/// Runs a command in a process group of its own, of which nothing is left
/// afterwards, and says how it ended; nothing if it took more than `time_max`.
///
/// # Errors
///
/// If the command cannot be run.
pub fn run_alone(command: &mut Command, time_max: Duration) -> io::Result<Option<Output>> {
    // Not pipes: a child of the process may hold them open for ever.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command
        .process_group(0)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    let id = child.id();
    let (ended, has_ended) = mpsc::channel();
    let waiting = thread::spawn(move || {
        await_end(id);
        // Nobody listens any more if it took too long.
        let _ = ended.send(());
    });
    let in_time = has_ended.recv_timeout(time_max).is_ok();
    // SAFETY: the group is our child's, and its number nobody else's, since the
    // child has not been reaped yet.
    unsafe { libc::kill(-id.cast_signed(), libc::SIGKILL) };
    waiting.join().expect("it only waits");
    let status = child.wait()?;
    let mut said = [Vec::new(), Vec::new()];
    for (file, said) in [&mut stdout, &mut stderr].into_iter().zip(&mut said) {
        file.rewind()?;
        file.read_to_end(said)?;
    }
    let [stdout, stderr] = said;
    Ok(in_time.then_some(Output {
        status,
        stdout,
        stderr,
    }))
}

/// Waits until the child of that number has ended, and leaves it to be reaped.
fn await_end(child: u32) {
    let options = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: all zeroes is a valid value, and the call writes it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, child, &raw mut info, options) != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}
