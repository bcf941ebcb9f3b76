//! The signal handler.
//!
//! It runs between any two instructions of any thread: while that thread
//! allocates, holds a lock, panics, or has next to no stack left. So it neither
//! allocates nor locks nor waits, calls nothing in the C library but wrappers
//! of system calls, touches no thread-local but `errno`, has no way to panic,
//! and needs well under 4 KiB of stack. It may be interrupted by itself: a slot
//! is one handler's, and all else that is shared is changed by single atomic
//! instructions.

use std::io;
use std::sync::atomic::Ordering;

use tachograph_core::labels::Label;

use super::capture::{Capture, with_active};
use super::cookie::{Cookie, Source};
use super::ring::{Claimed, Copied, Header};
use super::table::Entry;
use super::{context, kernel, registry, signal};

/// The address of the handler, for `sigaction`.
pub(crate) fn address() -> usize {
    on_signal as *const () as usize
}

/// The part of a `siginfo_t` that a timer fills; a queued signal has its
/// sender's ids in place of the first two.
#[repr(C)]
struct TimerInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    /// The value is aligned to eight bytes, on both architectures.
    padding: libc::c_int,
    timer: libc::c_int,
    overrun: libc::c_int,
    value: u64,
}

/// # Safety
///
/// To be called by the kernel, as a handler with `SA_SIGINFO`.
unsafe extern "C" fn on_signal(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: `errno` is this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes a siginfo_t; this is a prefix of it, which the
    // kernel has initialised whatever the signal's origin.
    let timer = unsafe { &*info.cast::<TimerInfo>() };
    let cookie = match timer.code {
        libc::SI_TIMER | libc::SI_QUEUE => Cookie::from_bits(timer.value),
        _ => None,
    };
    match cookie {
        Some(Cookie {
            source: Source::Probe,
            ..
        }) => signal::note_probe(),
        Some(cookie) if timer.code == libc::SI_TIMER => with_active(|capture| {
            if capture.number == cookie.capture {
                let overrun = u64::try_from(timer.overrun).unwrap_or(0);
                // SAFETY: the context is this handler's.
                unsafe { sample(capture, cookie.source, 1 + overrun, context) };
            }
        }),
        // SAFETY: the arguments are this handler's.
        _ => unsafe { signal::pass_on(number, info, context) },
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// # Safety
///
/// `context` must be that of the handler that calls this.
unsafe fn sample(capture: &Capture, source: Source, weight: u64, context: *mut libc::c_void) {
    let (thread, entry, index) = match source {
        Source::Thread { index, generation } => {
            let entry = capture.table.get(index);
            let thread = entry.and_then(|entry| entry.thread(generation));
            match thread {
                Some(thread) => (thread, entry, Some(index)),
                None => {
                    capture.lost.late.fetch_add(weight, Ordering::Relaxed);
                    return;
                }
            }
        }
        Source::Process | Source::Probe => {
            let thread = kernel::thread_id();
            if capture.table.is_armed(thread) {
                return;
            }
            (thread, None, None)
        }
    };
    if let Some(entry) = entry {
        entry.count(weight);
    }
    let Some(mut slot) = capture.ring.claim() else {
        capture.lost.ring_full.fetch_add(weight, Ordering::Relaxed);
        capture.ring_bell();
        return;
    };
    let half_full = slot.slot() >= capture.ring.count() / 2;

    // SAFETY: as the caller promises.
    let registers = unsafe { context::registers(context) };
    let (copied, stack_bytes) = copy_stack(capture, entry, registers.stack, &mut slot);
    slot.publish(Header {
        registers,
        thread_pointer: kernel::thread_pointer(),
        weight,
        stack_bytes: stack_bytes as u32,
        thread_id: thread,
        thread: index,
        label: label(thread, entry),
        copied,
        thread_name: kernel::thread_name(),
    });
    if half_full {
        capture.ring_bell();
    }
}

fn copy_stack(
    capture: &Capture,
    entry: Option<&Entry>,
    stack_pointer: u64,
    slot: &mut Claimed<'_>,
) -> (Copied, usize) {
    let room = capture.ring.stack_bytes();
    let to = slot.stack();
    if let Some(end) = entry.and_then(|entry| entry.stack_end(stack_pointer)) {
        let bytes = usize::try_from(end - stack_pointer).map_or(room, |bytes| bytes.min(room));
        let from = stack_pointer as usize as *const u8;
        // SAFETY: the entry is that of the thread that runs this, and the range
        // was found to be its own stack, which is mapped as long as it lives.
        // The slot has `room` bytes, elsewhere.
        unsafe { context::copy_racing(from, to, bytes) };
        return (Copied::Plain, bytes);
    }
    // SAFETY: the slot has `room` bytes that are ours.
    match unsafe { kernel::copy_if_mapped(capture.process, stack_pointer, to, room) } {
        0 => (Copied::Nothing, 0),
        bytes => (Copied::ByKernel, bytes),
    }
}

/// The label of `thread`, which is the one that runs this.
fn label(thread: i32, entry: Option<&Entry>) -> Label {
    let known = entry
        .and_then(Entry::record)
        .filter(|record| registry::is_of(*record, thread));
    let record = known.or_else(|| {
        let found = registry::find(thread)?;
        if let Some(entry) = entry {
            entry.set_record(found);
        }
        Some(found)
    });
    record.map_or(Label::NONE, |record| {
        // SAFETY: the record is that of `thread`, which runs this.
        unsafe { registry::label(record) }
    })
}

/// Queues a signal to the calling thread, with `cookie`.
pub(crate) fn send(cookie: Cookie) -> io::Result<()> {
    let mut info = [0_u64; size_of::<libc::siginfo_t>().div_ceil(8)];
    let timer = TimerInfo {
        signal: libc::SIGPROF,
        error: 0,
        code: libc::SI_QUEUE,
        padding: 0,
        timer: 0,
        overrun: 0,
        value: cookie.to_bits(),
    };
    // SAFETY: there is room for it, at an aligned place.
    unsafe { info.as_mut_ptr().cast::<TimerInfo>().write(timer) };
    // SAFETY: the kernel reads a siginfo_t, and there is one.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            kernel::process_id(),
            kernel::thread_id(),
            libc::SIGPROF,
            info.as_ptr(),
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
