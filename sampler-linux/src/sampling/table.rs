//! The threads that have a timer of their own, for handlers.

use std::io;
use std::slice;
use std::sync::atomic::{AtomicI32, AtomicU16, AtomicU64, AtomicUsize, Ordering};

use super::memory::Pages;

/// How many threads can be armed at one time.
pub(crate) const THREADS_MAX: usize = 8192;

/// A place in the table: written by the drain, read by handlers of the thread
/// that has it. All zero is a free one.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The thread's id; 0 if it is not armed.
    thread: AtomicI32,
    /// Changes with the thread, so that a signal sent to an earlier one is
    /// known by its cookie.
    generation: AtomicU16,
    /// One more than the thread's label record, as found by its handler; 0:
    /// none.
    record: AtomicU16,
    /// The stack that stays mapped as long as the thread lives.
    stack_start: AtomicU64,
    stack_end: AtomicU64,
    /// The sum of the weights of the thread's samples, kept or lost.
    counted: AtomicU64,
    /// One more than the descriptor of the thread's event; 0: none.
    descriptor: AtomicI32,
}

impl Entry {
    /// The thread that is armed with the cookie of `generation`.
    pub(crate) fn thread(&self, generation: u16) -> Option<i32> {
        let thread = self.thread.load(Ordering::Acquire);
        (thread != 0 && self.generation.load(Ordering::Relaxed) == generation).then_some(thread)
    }

    /// The descriptor of the thread's event.
    fn descriptor(&self) -> Option<i32> {
        match self.descriptor.load(Ordering::Relaxed) {
            0 => None,
            descriptor => Some(descriptor - 1),
        }
    }

    pub(crate) fn is_of(&self, thread: i32) -> bool {
        self.thread.load(Ordering::Relaxed) == thread
    }

    pub(crate) fn record(&self) -> Option<usize> {
        let record = self.record.load(Ordering::Relaxed);
        record.checked_sub(1).map(usize::from)
    }

    pub(crate) fn set_record(&self, record: usize) {
        let record = u16::try_from(record + 1).unwrap_or(0);
        self.record.store(record, Ordering::Relaxed);
    }

    /// The first address behind the verified stack, if `stack_pointer` lies in
    /// it.
    pub(crate) fn stack_end(&self, stack_pointer: u64) -> Option<u64> {
        let end = self.stack_end.load(Ordering::Acquire);
        let start = self.stack_start.load(Ordering::Relaxed);
        (start <= stack_pointer && stack_pointer < end).then_some(end)
    }

    /// Declares that the memory from `start` to `end` stays mapped as long as
    /// the thread lives.
    pub(crate) fn set_stack(&self, start: u64, end: u64) {
        self.stack_start.store(start, Ordering::Relaxed);
        self.stack_end.store(end, Ordering::Release);
    }

    pub(crate) fn count(&self, weight: u64) {
        self.counted.fetch_add(weight, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    pub(crate) fn has_stack(&self) -> bool {
        self.stack_end.load(Ordering::Relaxed) != 0
    }
}

/// The table of a capture.
#[derive(Debug)]
pub(crate) struct Table {
    /// No entry at or above this one was ever used.
    used: AtomicUsize,
    entries: Pages,
}

impl Table {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            used: AtomicUsize::new(0),
            entries: Pages::new(THREADS_MAX * size_of::<Entry>())?,
        })
    }

    fn entries(&self) -> &[Entry] {
        // SAFETY: the pages have room for as many entries, begin aligned to
        // more than any type needs, and are zero at first, which is a valid
        // entry since it consists of atomic integers. Access is by shared
        // reference only.
        unsafe { slice::from_raw_parts(self.entries.start().cast().as_ptr(), THREADS_MAX) }
    }

    pub(crate) fn get(&self, index: u16) -> Option<&Entry> {
        self.entries().get(usize::from(index))
    }

    /// The entries that were ever used.
    fn used(&self) -> &[Entry] {
        let used = self.used.load(Ordering::Acquire);
        let entries = self.entries();
        entries.get(..used).unwrap_or(entries)
    }

    /// Whether `thread` is armed. For handlers, too.
    pub(crate) fn is_armed(&self, thread: i32) -> bool {
        self.used().iter().any(|entry| entry.is_of(thread))
    }

    /// The place of `thread`, if it is armed with the event that has this
    /// `descriptor`. For handlers, too.
    pub(crate) fn place_of_event(&self, thread: i32, descriptor: i32) -> Option<u16> {
        let place = self
            .used()
            .iter()
            .position(|entry| entry.is_of(thread) && entry.descriptor() == Some(descriptor))?;
        u16::try_from(place).ok()
    }

    /// The descriptors of all events.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.used().iter().filter_map(Entry::descriptor)
    }

    /// Readies the entry `index` for a new thread, and returns the generation
    /// for its cookie.
    pub(crate) fn prepare(&self, index: u16) -> u16 {
        let Some(entry) = self.get(index) else {
            return 0;
        };
        entry.record.store(0, Ordering::Relaxed);
        entry.stack_end.store(0, Ordering::Relaxed);
        entry.counted.store(0, Ordering::Relaxed);
        let generation = entry.generation.load(Ordering::Relaxed).wrapping_add(1);
        entry.generation.store(generation, Ordering::Relaxed);
        self.used
            .fetch_max(usize::from(index) + 1, Ordering::AcqRel);
        generation
    }

    /// From here on `thread` counts as armed, with a timer or with the event that
    /// has `descriptor`.
    pub(crate) fn arm(&self, index: u16, thread: i32, descriptor: Option<i32>) {
        if let Some(entry) = self.get(index) {
            let descriptor = descriptor.map_or(0, |it| it + 1);
            entry.descriptor.store(descriptor, Ordering::Relaxed);
            entry.thread.store(thread, Ordering::Release);
        }
    }

    /// From here on it does not.
    pub(crate) fn disarm(&self, index: u16) {
        self.arm(index, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_for_an_earlier_thread_is_known() {
        let table = Table::new().expect("memory");
        let first = table.prepare(3);
        let entry = table.get(3).expect("it exists");
        assert_eq!(entry.thread(first), None);
        table.arm(3, 77, None);
        entry.set_stack(100, 200);
        entry.set_record(0);
        entry.count(3);
        entry.count(4);
        assert_eq!(entry.counted(), 7);
        assert_eq!(entry.thread(first), Some(77));
        assert!(table.is_armed(77));
        table.disarm(3);
        assert!(!table.is_armed(77));

        let second = table.prepare(3);
        table.arm(3, 78, None);
        assert_eq!(entry.thread(first), None);
        assert_eq!(entry.thread(second), Some(78));
        assert_eq!(entry.record(), None);
        assert_eq!(entry.counted(), 0);
        assert_eq!(entry.stack_end(150), None);
        assert!(table.get(u16::MAX).is_none());
    }

    #[test]
    fn an_event_is_known_by_its_thread_and_its_descriptor() {
        let table = Table::new().expect("memory");
        for (index, thread, descriptor) in [(0, 77, None), (1, 78, Some(0)), (2, 79, Some(9))] {
            table.prepare(index);
            table.arm(index, thread, descriptor);
        }
        assert_eq!(table.place_of_event(79, 9), Some(2));
        assert_eq!(table.place_of_event(78, 0), Some(1));
        assert_eq!(table.place_of_event(78, 9), None, "another's");
        assert_eq!(table.place_of_event(77, -1), None, "it has a timer");
        assert_eq!(table.descriptors().collect::<Vec<_>>(), [0, 9]);

        table.disarm(2);
        assert_eq!(table.place_of_event(79, 9), None);
        assert_eq!(table.descriptors().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_verified_stack_ends_at_its_ends() {
        let table = Table::new().expect("memory");
        let entry = table.get(0).expect("it exists");
        assert!(!entry.has_stack());
        entry.set_stack(100, 200);
        assert!(entry.has_stack());
        assert_eq!(entry.stack_end(99), None);
        assert_eq!(entry.stack_end(100), Some(200));
        assert_eq!(entry.stack_end(199), Some(200));
        assert_eq!(entry.stack_end(200), None);
    }
}
