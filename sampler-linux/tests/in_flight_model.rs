//! Every order in which handlers and the end of a capture can meet, by
//! [loom](https://docs.rs/loom).

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[allow(dead_code, reason = "what happens after a fork has one thread")]
#[path = "../src/sampling/in_flight.rs"]
mod in_flight;

/// Takes the place of the atomics that the sampler uses.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
}

use in_flight::InFlight;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicUsize};
use loom::thread;

/// Memory that may be written only while nobody reads it. Loom fails on every
/// access that another one could race with.
struct Memory(UnsafeCell<u32>);

impl Memory {
    fn new(value: u32) -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(value)))
    }

    fn read(&self) -> u32 {
        // SAFETY: that nobody writes meanwhile is what loom checks.
        self.0.with(|value| unsafe { *value })
    }

    /// What giving memory back does to those who still use it.
    fn give_back(&self) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = 0 });
    }
}

fn nothing_lent() -> Arc<InFlight<Memory>> {
    Arc::new(InFlight {
        lent: AtomicPtr::new(std::ptr::null_mut()),
        users: AtomicUsize::new(0),
    })
}

fn lend(in_flight: &InFlight<Memory>, memory: &Arc<Memory>) {
    // SAFETY: the tests keep all memory until every thread has ended.
    unsafe { in_flight.lend(Arc::as_ptr(memory)) };
}

#[test]
fn memory_is_given_back_only_when_no_handler_uses_it() {
    let mut model = loom::model::Builder::new();
    // With three threads, all orders take minutes.
    model.preemption_bound = Some(2);
    model.check(|| {
        let in_flight = nothing_lent();
        let memory = Memory::new(7);
        lend(&in_flight, &memory);
        let handlers = [(); 2].map(|()| {
            let in_flight = Arc::clone(&in_flight);
            thread::spawn(move || in_flight.with(Memory::read))
        });
        in_flight.call_back();
        if in_flight.is_back() {
            memory.give_back();
        }
        for handler in handlers {
            let read = handler.join().expect("it ends");
            assert!(matches!(read, None | Some(7)), "{read:?}");
        }
        assert!(in_flight.is_back());
        assert_eq!(in_flight.with(Memory::read), None);
    });
}

#[test]
fn the_next_capture_is_seen_whole_and_the_last_one_not_any_more() {
    loom::model(|| {
        let in_flight = nothing_lent();
        let (first, second) = (Memory::new(1), Memory::new(0));
        lend(&in_flight, &first);
        let handler = {
            let in_flight = Arc::clone(&in_flight);
            thread::spawn(move || in_flight.with(Memory::read))
        };
        in_flight.call_back();
        if in_flight.is_back() {
            first.give_back();
            // SAFETY: nobody has seen it yet.
            second.0.with_mut(|value| unsafe { *value = 2 });
            lend(&in_flight, &second);
        }
        let read = handler.join().expect("it ends");
        assert!(matches!(read, None | Some(1 | 2)), "{read:?}");
    });
}
