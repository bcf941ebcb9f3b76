//! Which slots of the ring are free, being written, ready or being read.
//!
//! A slot goes round: free, claimed by a handler, ready, taken by the drain,
//! free again. Each arrow is one atomic instruction on a bit, and only whoever
//! cleared the bit owns the slot. There is no order among slots: the lowest
//! free one is given out first, so that few samples touch little memory.

use super::sync::{AtomicU64, Ordering};

/// Slots of one word.
const BITS: usize = u64::BITS as usize;

/// How often a claim tries again after losing a slot to another thread. A
/// handler must come to an end.
const TRIES: usize = 64;

/// The states of up to `WORDS * 64` slots.
#[derive(Debug)]
pub(crate) struct Slots<const WORDS: usize> {
    free: [AtomicU64; WORDS],
    ready: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Slots<WORDS> {
    /// The first `count` slots, free.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            free: std::array::from_fn(|word| {
                let bits = count.saturating_sub(word * BITS).min(BITS);
                AtomicU64::new(if bits == BITS {
                    u64::MAX
                } else {
                    (1 << bits) - 1
                })
            }),
            ready: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Takes a free slot for writing; none if there is none.
    pub(crate) fn claim(&self) -> Option<usize> {
        // Acquire: the reader of the slot's previous content is done with it.
        take_lowest(&self.free, Ordering::Acquire)
    }

    /// Makes a claimed slot ready.
    pub(crate) fn publish(&self, slot: usize) {
        // Release: what was written is seen by whoever takes the slot.
        set(&self.ready, slot, Ordering::Release);
    }

    /// Takes a ready slot for reading; none if there is none.
    pub(crate) fn take(&self) -> Option<usize> {
        take_lowest(&self.ready, Ordering::Acquire)
    }

    /// Makes a taken slot free.
    pub(crate) fn release(&self, slot: usize) {
        set(&self.free, slot, Ordering::Release);
    }
}

fn take_lowest(words: &[AtomicU64], ordering: Ordering) -> Option<usize> {
    let mut tries = 0;
    for (index, word) in words.iter().enumerate() {
        loop {
            let bits = word.load(Ordering::Relaxed);
            if bits == 0 {
                break;
            }
            if tries == TRIES {
                return None;
            }
            tries += 1;
            let lowest = bits.trailing_zeros();
            if word.fetch_and(!(1 << lowest), ordering) & (1 << lowest) != 0 {
                return Some(index * BITS + lowest as usize);
            }
        }
    }
    None
}

fn set(words: &[AtomicU64], slot: usize, ordering: Ordering) {
    if let Some(word) = words.get(slot / BITS) {
        word.fetch_or(1 << (slot % BITS), ordering);
    }
}
