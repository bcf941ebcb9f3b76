//! Every order in which handlers and the drain can touch the ring's slots, by
//! [loom](https://docs.rs/loom).

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../src/sampling/slots.rs"]
mod slots;

/// Takes the place of the atomics that the sampler uses.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use slots::Slots;

/// Slots with what they protect. Loom fails on every access that another one
/// could race with.
struct Ring {
    slots: Slots<1>,
    content: [UnsafeCell<u32>; 2],
}

impl Ring {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: Slots::new(count),
            content: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    /// What a handler does.
    fn write(&self, value: u32) -> bool {
        let Some(slot) = self.slots.claim() else {
            return false;
        };
        // SAFETY: that nobody else has the slot is what loom checks.
        self.content[slot].with_mut(|content| unsafe { *content = value });
        self.slots.publish(slot);
        true
    }

    /// What the drain does.
    fn read(&self) -> Option<u32> {
        let slot = self.slots.take()?;
        // SAFETY: as above.
        let value = self.content[slot].with(|content| unsafe { *content });
        self.slots.release(slot);
        Some(value)
    }
}

#[test]
fn two_handlers_and_the_drain_lose_nothing_and_share_nothing() {
    loom::model(|| {
        let ring = Ring::new(2);
        let handlers = [1, 2].map(|value| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || ring.write(value))
        });
        let mut sum = ring.read().unwrap_or(0);
        for handler in handlers {
            assert!(handler.join().expect("it writes"), "there was room");
        }
        while let Some(value) = ring.read() {
            sum += value;
        }
        assert_eq!(sum, 3);
    });
}

#[test]
fn a_full_ring_refuses_and_a_slot_that_comes_round_is_whole() {
    loom::model(|| {
        let ring = Ring::new(1);
        let handlers = [1, 2].map(|value| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || if ring.write(value) { value } else { 0 })
        });
        let mut sum = ring.read().unwrap_or(0);
        let written: u32 = handlers
            .map(|it| it.join().expect("it writes"))
            .iter()
            .sum();
        while let Some(value) = ring.read() {
            sum += value;
        }
        assert_eq!(sum, written);
        assert_ne!(written, 0);
    });
}
