//! The signal handler.
//!
//! It runs between any two instructions of any thread: while that thread
//! allocates, holds a lock, panics, or has next to no stack left. So it neither
//! allocates nor locks nor waits, calls nothing in the C library but wrappers
//! of system calls, touches no thread-local but `errno`, has no way to panic,
//! and needs well under 4 KiB of stack. Handlers of many threads run at once: a
//! slot is one handler's, and all else that is shared is changed by single
//! atomic instructions.

use std::io;
use std::sync::atomic::Ordering;

use tachograph_core::labels::Label;

use super::capture::{Capture, with_active};
use super::cookie::{Cookie, Source};
use super::ring::{Claimed, Copied, Header};
use super::table::Entry;
use super::{context, event, kernel, registry, signal};

/// The address of the handler, for `sigaction`.
pub(crate) fn address() -> usize {
    on_signal as *const () as usize
}

/// The part of a `siginfo_t` that a descriptor fills.
#[repr(C)]
struct EventInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    band: libc::c_long,
    descriptor: libc::c_int,
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
    // First of all, before another thread is there to take it.
    let second = take_pending();
    // SAFETY: the arguments are this handler's.
    unsafe { on_one_signal(number, info, context) };
    if let Some(mut second) = second {
        let info = (&raw mut second).cast();
        // SAFETY: the kernel has filled the information as for a handler, and the
        // rest is this handler's.
        unsafe { on_one_signal(number, info, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// # Safety
///
/// `info` must be what the kernel tells of a signal `number`, and `context` that
/// of the handler that calls this.
unsafe fn on_one_signal(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a siginfo_t; this is a prefix of it, which the
    // kernel has initialised whatever the signal's origin.
    let timer = unsafe { &*info.cast::<TimerInfo>() };
    let is_ours = match timer.code {
        // SAFETY: the context is this handler's.
        libc::SI_TIMER | libc::SI_QUEUE => unsafe { on_timer(timer, context) },
        // SAFETY: the kernel, which alone can send this, passes a siginfo_t with
        // this prefix, and the context is this handler's.
        event::CODE => unsafe { on_event((*info.cast::<EventInfo>()).descriptor, context) },
        _ => false,
    };
    if !is_ours {
        // SAFETY: as the caller promises.
        unsafe { signal::pass_on(number, info, context) };
    }
}

/// Room for a `siginfo_t`, aligned as one.
type Information = [u64; size_of::<libc::siginfo_t>().div_ceil(8)];

/// Takes a second `SIGPROF` that waits for this thread or for any.
///
/// The timer of the process often expires together with that of the thread that
/// runs. Its signal is the process's, and while the first one is handled here,
/// where it is blocked, the kernel would have another thread handle it: a
/// sample would be that thread's.
fn take_pending() -> Option<Information> {
    let set: u64 = 1 << (libc::SIGPROF - 1);
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut information = Information::default();
    // SAFETY: the kernel's set of signals has eight bytes on both architectures;
    // all places are ours, and the last has the size of what is written.
    let signal = unsafe {
        libc::syscall(
            libc::SYS_rt_sigtimedwait,
            &raw const set,
            information.as_mut_ptr(),
            &raw const at_once,
            size_of_val(&set),
        )
    };
    (signal == libc::c_long::from(libc::SIGPROF)).then_some(information)
}

/// Samples if the signal is that of a timer of the present capture. False if it
/// is none of ours.
///
/// # Safety
///
/// `context` must be that of the handler that calls this.
unsafe fn on_timer(timer: &TimerInfo, context: *mut libc::c_void) -> bool {
    let Some(cookie) = Cookie::from_bits(timer.value) else {
        return false;
    };
    if cookie.source == Source::Probe {
        signal::note_probe();
        return true;
    }
    if timer.code != libc::SI_TIMER {
        return false;
    }
    with_active(|capture| {
        if capture.number != cookie.capture {
            return;
        }
        let weight = 1 + u64::try_from(timer.overrun).unwrap_or(0);
        let (thread, armed) = match cookie.source {
            Source::Thread { index, generation } => {
                let entry = capture.table.get(index);
                let thread = entry.and_then(|entry| entry.thread(generation));
                let Some((entry, thread)) = entry.zip(thread) else {
                    capture.lost.late.fetch_add(weight, Ordering::Relaxed);
                    return;
                };
                (thread, Some((index, entry)))
            }
            Source::Process | Source::Probe => {
                let thread = kernel::thread_id();
                if capture.table.is_armed(thread) {
                    return;
                }
                (thread, None)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { sample(capture, thread, armed, weight, context) };
    });
    true
}

/// Samples if the signal is that of this thread's event. False if it is not: a
/// number of a descriptor says nothing by itself.
///
/// # Safety
///
/// `context` must be that of the handler that calls this.
unsafe fn on_event(descriptor: i32, context: *mut libc::c_void) -> bool {
    let sampled = with_active(|capture| {
        let thread = kernel::thread_id();
        let index = capture.table.place_of_event(thread, descriptor)?;
        let entry = capture.table.get(index)?;
        if entry.counted() == 0 {
            // Events are closed only when no handler can use the capture any
            // more, or their thread has ended.
            let nanos = u64::try_from(capture.period.as_nanos()).unwrap_or(u64::MAX);
            event::set_period(descriptor, nanos);
        }
        // SAFETY: as the caller promises.
        unsafe { sample(capture, thread, Some((index, entry)), 1, context) };
        Some(())
    });
    sampled.flatten().is_some()
}

/// Takes a sample of `thread`, which runs this and is `armed` or not.
///
/// # Safety
///
/// `context` must be that of the handler that calls this.
unsafe fn sample(
    capture: &Capture,
    thread: i32,
    armed: Option<(u16, &Entry)>,
    weight: u64,
    context: *mut libc::c_void,
) {
    let entry = armed.map(|(_, entry)| entry);
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
        thread: armed.map(|(index, _)| index),
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
    let mut info = Information::default();
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
