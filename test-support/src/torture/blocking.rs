//! Calls that wait in the kernel.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::{Condvar, Mutex};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use super::{End, Figures, Subject, Tally};
use crate::burn;

/// Threads that use the CPU and then wait: for a connection, for bytes from a pipe
/// and from a socket, for another thread, and for time to pass. The calls are those of
/// the C library as they are, since Rust's own mostly begin anew when they are
/// interrupted.
///
/// Calls with a time limit of their own fail with `EINTR` after any handler, as
/// `signal(7)` has it. That is what the samplers document, and counted apart.
pub fn blocking_calls(subject: Subject<'_>, time: Duration) -> Figures {
    subject.sample(|| {
        let end = End::after(time);
        let tally = Tally::default();
        thread::scope(|scope| {
            accept(scope, end, &tally);
            read_pipe(scope, end, &tally);
            read_socket(scope, end, &tally);
            wait_for_a_condition(scope, end, &tally);
            scope.spawn(|| sleep(end, &tally));
            scope.spawn(|| poll(end, &tally));
        });
        tally.into_results()
    })
}

/// Lets the timer of the calling thread expire at any place of the next call.
fn burn_somewhat(round: u64) {
    burn(Duration::from_micros(500 + round * 37 % 700));
}

/// For the other side to be late, so that there is something to wait for.
const LATE: Duration = Duration::from_micros(700);

fn accept<'scope>(scope: &'scope Scope<'scope, '_>, end: End, tally: &'scope Tally) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let (ask, asked) = std::sync::mpsc::channel();
    scope.spawn(move || {
        for () in asked {
            thread::sleep(LATE);
            // It waits to be closed, so that no port is left in TIME_WAIT here.
            let mut stream = TcpStream::connect(address).expect("it listens");
            let _ = stream.read(&mut [0]);
        }
    });
    scope.spawn(move || {
        let mut round = 0;
        while !end.is_due() {
            burn_somewhat(round);
            ask.send(()).expect("it connects");
            // SAFETY: nobody wants to know who connects.
            let accepted =
                unsafe { libc::accept(listener.as_raw_fd(), ptr::null_mut(), ptr::null_mut()) };
            tally.count(accepted >= 0);
            if accepted >= 0 {
                // SAFETY: the descriptor is ours alone.
                unsafe { libc::close(accepted) };
            }
            round += 1;
        }
    });
}

/// Reads numbers as they come, and sees that none is missing.
fn read<'scope>(
    scope: &'scope Scope<'scope, '_>,
    end: End,
    tally: &'scope Tally,
    from: impl AsRawFd + Send + 'scope,
    mut to: impl Write + Send + 'scope,
) {
    let (ask, asked) = std::sync::mpsc::channel::<u64>();
    scope.spawn(move || {
        for number in asked {
            thread::sleep(LATE);
            to.write_all(&number.to_ne_bytes()).expect("it reads");
        }
    });
    scope.spawn(move || {
        let mut round = 0_u64;
        while !end.is_due() {
            burn_somewhat(round);
            ask.send(round).expect("it writes");
            let mut number = [0; 8];
            // SAFETY: there is room for eight bytes.
            let read =
                unsafe { libc::read(from.as_raw_fd(), number.as_mut_ptr().cast(), number.len()) };
            tally.count(read == 8 && u64::from_ne_bytes(number) == round);
            round += 1;
        }
    });
}

fn read_pipe<'scope>(scope: &'scope Scope<'scope, '_>, end: End, tally: &'scope Tally) {
    let (from, to) = io::pipe().expect("a pipe");
    read(scope, end, tally, from, to);
}

fn read_socket<'scope>(scope: &'scope Scope<'scope, '_>, end: End, tally: &'scope Tally) {
    let (from, to) = UnixStream::pair().expect("a pair");
    read(scope, end, tally, from, to);
}

/// Two threads hand a number to and fro.
fn wait_for_a_condition<'scope>(scope: &'scope Scope<'scope, '_>, end: End, tally: &'scope Tally) {
    struct Turns {
        number: Mutex<u64>,
        has_changed: Condvar,
    }
    let turns = std::sync::Arc::new(Turns {
        number: Mutex::new(0),
        has_changed: Condvar::new(),
    });
    for own in [0, 1] {
        let turns = std::sync::Arc::clone(&turns);
        scope.spawn(move || {
            let mut expected = own;
            loop {
                burn_somewhat(expected);
                let is_due = end.is_due();
                let number = turns.number.lock().expect("nobody panics");
                let limit = Duration::from_secs(60);
                let (mut number, result) = turns
                    .has_changed
                    .wait_timeout_while(number, limit, |it| *it < expected)
                    .expect("nobody panics");
                if *number == u64::MAX {
                    return;
                }
                tally.count(*number == expected && !result.timed_out());
                *number = if is_due { u64::MAX } else { *number + 1 };
                turns.has_changed.notify_one();
                if is_due {
                    return;
                }
                expected += 2;
            }
        });
    }
}

/// Whether a call that returned `result` was interrupted.
fn is_interrupted(result: libc::c_int) -> bool {
    result == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

fn sleep(end: End, tally: &Tally) {
    const WANTED: Duration = Duration::from_millis(1);
    let mut round = 0;
    while !end.is_due() {
        burn_somewhat(round);
        let wanted = libc::timespec {
            tv_sec: 0,
            tv_nsec: WANTED.subsec_nanos().into(),
        };
        let mut left = libc::timespec { ..wanted };
        let start = Instant::now();
        // SAFETY: both places are ours.
        let result = unsafe { libc::nanosleep(&raw const wanted, &raw mut left) };
        let slept = start.elapsed();
        if is_interrupted(result) {
            tally.count_interrupted();
            let left = Duration::new(left.tv_sec as u64, left.tv_nsec as u32);
            tally.count(slept + left >= WANTED);
        } else {
            tally.count(result == 0 && slept >= WANTED);
        }
        // Rust's own sleeps as long as it was asked to, interrupted or not.
        burn_somewhat(round + 5);
        let start = Instant::now();
        thread::sleep(WANTED);
        tally.count(start.elapsed() >= WANTED);
        round += 1;
    }
}

fn poll(end: End, tally: &Tally) {
    let (from, mut to) = UnixStream::pair().expect("a pair");
    let wait = |milliseconds| loop {
        let mut wanted = libc::pollfd {
            fd: from.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: there is one of it, and it is ours.
        let result = unsafe { libc::poll(&raw mut wanted, 1, milliseconds) };
        if !is_interrupted(result) {
            return result;
        }
        tally.count_interrupted();
    };
    let mut round = 0;
    while !end.is_due() {
        burn_somewhat(round);
        tally.count(wait(1) == 0);
        to.write_all(&[1]).expect("there is room");
        tally.count(wait(-1) == 1 && (&from).read(&mut [0; 8]).is_ok_and(|it| it == 1));
        round += 1;
    }
}
