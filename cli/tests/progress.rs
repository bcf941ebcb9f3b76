//! What one sees who waits.

#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use common::{data, skipped, tachograph};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Both ends of a terminal; `None`, said aloud, where there are none.
fn terminal() -> Option<(File, File)> {
    let Ok(controller) = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY) else {
        skipped("needs pseudo-terminals");
        return None;
    };
    grantpt(&controller).expect("granted");
    unlockpt(&controller).expect("unlocked");
    let name = ptsname(&controller, Vec::new()).expect("a name");
    let name = name.to_str().expect("ASCII");
    let terminal = OpenOptions::new().read(true).write(true).open(name);
    Some((controller.into(), terminal.expect("the other end")))
}

/// Reads from a terminal until `text` was seen, or there is no more.
fn read_until(terminal: &mut File, text: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let mut buffer = [0; 4096];
        match terminal.read(&mut buffer) {
            Ok(count) if count > 0 => seen.extend(&buffer[..count]),
            // All that had it open are gone.
            Ok(_) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn a_terminal_is_told_how_far_it_is_after_a_second_and_a_pipe_is_not() {
    let Some((mut controller, other_end)) = terminal() else {
        return;
    };
    let profile = fs::read(data("foreign/go-cpu.pb.gz")).expect("it is committed");
    let start = |stderr: Stdio| {
        tachograph(["top", "-n", "1", "-"])
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("it runs")
    };
    // Both wait for their input, the one with the pipe for longer.
    let mut piped = start(Stdio::piped());
    let mut shown = start(other_end.into());

    let seen = read_until(&mut controller, "0 of 1 files");
    assert!(seen.contains("0 of 1 files"), "{seen:?}");
    for child in [&mut piped, &mut shown] {
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(&profile).expect("it reads");
    }
    let piped = piped.wait_with_output().expect("it ends");
    let rest = read_until(&mut controller, "there is no such text");
    let shown = shown.wait_with_output().expect("it ends");

    assert!(shown.status.success() && piped.status.success());
    assert_eq!(shown.stdout, piped.stdout);
    assert!(!shown.stdout.is_empty());
    // What is drawn last is an empty line.
    assert!(
        rest.ends_with("\x1b[2K") || rest.ends_with('\r'),
        "{rest:?}"
    );
    assert_eq!(String::from_utf8_lossy(&piped.stderr), "");
}
