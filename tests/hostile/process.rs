//! This test program again, as a process that plays a part and is talked to by
//! lines.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PLACE: &str = "TACHOGRAPH_TEST_PLACE";
/// How its lines begin, among those of the test harness.
const MARK: &str = "> ";

pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts `test` again, which [plays](played) its part at `place`, as `user`.
    pub(crate) fn start(test: &str, place: &Path, user: Option<u32>) -> Self {
        // Another user may have no way to the program by its path.
        let mut command = Command::new("/proc/self/exe");
        command
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(PLACE, place)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().expect("the child starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self {
            child,
            input,
            output,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it listens");
    }

    /// What it says next.
    pub(crate) fn hear(&mut self) -> String {
        for line in self.output.by_ref() {
            let line = line.expect("readable");
            if let Some(at) = line.find(MARK) {
                return line[at + MARK.len()..].to_owned();
            }
        }
        panic!("the child ended early: {:?}", self.child.wait());
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    /// Lets it come to its end.
    pub(crate) fn join(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("wait").success());
    }
}

/// In such a process: the place at which it plays its part.
pub(crate) fn played() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

/// In such a process: what its parent tells it, line by line.
pub(crate) fn told() -> impl Iterator<Item = String> {
    std::io::stdin().lines().map_while(Result::ok)
}

/// In such a process: says something to the parent.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub(crate) fn answer(line: &str) {
    println!("\n{MARK}{line}");
}
