//! Where threads keep their labels, for handlers.
//!
//! A thread that has a label for the first time, or that is
//! [registered](crate::register_thread), enters the address of its label here,
//! outside of any handler, and takes it back before it ends. So a handler
//! needs no thread-local of its own: in a loaded library the first access to
//! one can allocate.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use tachograph_core::labels::{self, Label, ThreadLabel};

use super::{capture, kernel};

/// How many threads can be entered at one time. The samples of further ones
/// have no label, and are counted.
pub(crate) const RECORDS_MAX: usize = 4096;

struct Record {
    /// The thread's id; 0: free, negative: being entered.
    thread: AtomicI32,
    place: AtomicPtr<ThreadLabel>,
}

static RECORDS: [Record; RECORDS_MAX] = [const {
    Record {
        thread: AtomicI32::new(0),
        place: AtomicPtr::new(ptr::null_mut()),
    }
}; RECORDS_MAX];

/// No record at or above this one was ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// How many threads found no room.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The record of this thread.
    static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    /// Takes it back.
    static LEAVE: Leave = const { Leave };
}

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(record) = OWN.take().and_then(|index| RECORDS.get(index)) {
            record.thread.store(-1, Ordering::Relaxed);
            record.place.store(ptr::null_mut(), Ordering::Release);
            record.thread.store(0, Ordering::Release);
        }
    }
}

/// Has each thread enter itself from now on, when it has a label.
pub(crate) fn observe_labels() {
    // False for a second copy of this crate in one process: its samples then
    // go without labels, and are counted as such.
    labels::observe(enter);
}

fn enter(place: &ThreadLabel) {
    // Fails in a thread that is ending; then the record could not be taken
    // back, so there must be none.
    if LEAVE.try_with(|_| ()).is_err() {
        return;
    }
    for (index, record) in RECORDS.iter().enumerate() {
        let free = record
            .thread
            .compare_exchange(0, -1, Ordering::Acquire, Ordering::Relaxed);
        if free.is_ok() {
            let place = ptr::from_ref(place).cast_mut();
            record.place.store(place, Ordering::Relaxed);
            record.thread.store(kernel::thread_id(), Ordering::Release);
            USED.fetch_max(index + 1, Ordering::Release);
            OWN.set(Some(index));
            capture::announce_newcomer();
            return;
        }
    }
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

/// How many threads of this process have found no room here so far.
pub(crate) fn refused() -> usize {
    REFUSED.load(Ordering::Relaxed)
}

/// The record of `thread`, if it has entered itself. For handlers, too.
pub(crate) fn find(thread: i32) -> Option<usize> {
    let used = USED.load(Ordering::Acquire).min(RECORDS_MAX);
    RECORDS
        .iter()
        .take(used)
        .position(|record| record.thread.load(Ordering::Relaxed) == thread)
}

/// Whether `record` is that of `thread`. For handlers, too.
pub(crate) fn is_of(record: usize, thread: i32) -> bool {
    RECORDS
        .get(record)
        .is_some_and(|record| record.thread.load(Ordering::Relaxed) == thread)
}

/// The label in `record`.
///
/// # Safety
///
/// `record` must be that of the calling thread.
pub(crate) unsafe fn label(record: usize) -> Label {
    let place = RECORDS
        .get(record)
        .map_or(ptr::null_mut(), |it| it.place.load(Ordering::Acquire));
    // SAFETY: it is null, or the address of this very thread's label, which
    // lives as long as the thread. Only the thread itself changes its record,
    // and not while it runs this.
    unsafe { place.as_ref() }.map_or(Label::NONE, ThreadLabel::get)
}

/// In a child after a fork: the threads of the parent are not here, and the
/// one that is has a new id.
pub(crate) fn keep_only_this_thread() {
    let own = OWN.try_with(Cell::get).ok().flatten();
    for (index, record) in RECORDS.iter().enumerate() {
        if Some(index) == own {
            record.thread.store(kernel::thread_id(), Ordering::Relaxed);
        } else if record.thread.load(Ordering::Relaxed) != 0 {
            record.place.store(ptr::null_mut(), Ordering::Relaxed);
            record.thread.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tachograph_core::Name;

    use super::*;

    #[test]
    fn a_thread_is_found_while_it_lives() {
        observe_labels();
        let text = Label::intern(&Name::new("registered").expect("valid"));
        let gone = thread::spawn(move || {
            let own = kernel::thread_id();
            assert_eq!(find(own), None);
            labels::with(text, || {
                let record = find(own).expect("entered");
                assert!(is_of(record, own));
                // SAFETY: it is this thread's.
                assert_eq!(unsafe { label(record) }, text);
            });
            let record = find(own).expect("still entered");
            // SAFETY: it is this thread's.
            assert_eq!(unsafe { label(record) }, Label::NONE);
            own
        });
        let gone = gone.join().expect("it ran");
        assert_eq!(find(gone), None);
    }
}
