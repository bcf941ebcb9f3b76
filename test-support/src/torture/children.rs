//! Children.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::{Figures, Subject, on_threads};
use crate::burn;

/// Children that are spawned, and children that are forked and get a signal
/// before they execute.
pub fn children(subject: Subject<'_>, time: Duration) -> Figures {
    let ends_well = |command: &mut Command| command.status().is_ok_and(|it| it.success());
    subject.sample(|| {
        on_threads(3, time, || {
            burn(Duration::from_millis(1));
            let mut forked = Command::new("true");
            // SAFETY: the closure calls nothing but a system call.
            unsafe { forked.pre_exec(raise_in_child) };
            ends_well(&mut Command::new("true")) && ends_well(&mut forked)
        })
    })
}

/// Between a fork and an exec; with this, there is a real fork.
fn raise_in_child() -> io::Result<()> {
    // SAFETY: a stray signal has no effect.
    unsafe { libc::raise(libc::SIGPROF) };
    Ok(())
}
