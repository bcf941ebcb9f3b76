//! The fixed memory between handlers and the drain.

use std::io;
use std::slice;

use tachograph_core::labels::Label;

use super::memory::Pages;
use super::slots::Slots;

const WORDS: usize = 8;

/// The most slots a ring can have.
pub(crate) const SLOTS_MAX: usize = WORDS * 64;

const PAGE_BYTES: usize = 4096;

/// How the copy of a stack was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Copied {
    /// Not at all: there is none.
    Nothing,
    /// By plain memory access, from a range known to stay mapped.
    Plain,
    /// By the kernel.
    ByKernel,
}

/// What a handler notes beside the stack.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) registers: Registers,
    /// What `pthread_self` says: an address at the top of the thread's stack.
    pub(crate) thread_pointer: u64,
    /// How many samples this one stands for.
    pub(crate) weight: u64,
    pub(crate) stack_bytes: u32,
    pub(crate) thread_id: i32,
    /// The thread's place in the table of armed threads; none if it is not
    /// armed.
    pub(crate) thread: Option<u16>,
    pub(crate) label: Label,
    pub(crate) copied: Copied,
    /// As the kernel knows it, ended by a zero byte.
    pub(crate) thread_name: [u8; 16],
}

/// The registers that unwinding begins with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Registers {
    pub(crate) instruction: u64,
    pub(crate) stack: u64,
    pub(crate) frame: u64,
    /// Where the caller goes on, on aarch64; else 0.
    pub(crate) link: u64,
}

const HEADER_BYTES: usize = size_of::<Header>().next_multiple_of(16);

/// A fixed number of slots, each with a header and room for a stack.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Slots<WORDS>,
    count: usize,
    /// From slot to slot.
    stride: usize,
    memory: Pages,
}

impl Ring {
    /// A ring of `count` slots, each of which takes `stack_bytes` of a stack.
    pub(crate) fn new(count: usize, stack_bytes: usize) -> io::Result<Self> {
        let count = count.clamp(1, SLOTS_MAX);
        let stride = (HEADER_BYTES + stack_bytes).next_multiple_of(PAGE_BYTES);
        Ok(Self {
            slots: Slots::new(count),
            count,
            stride,
            memory: Pages::new(count * stride)?,
        })
    }

    /// The number of slots.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How much of a stack a slot takes.
    pub(crate) fn stack_bytes(&self) -> usize {
        self.stride - HEADER_BYTES
    }

    /// A slot to write to. For handlers: no lock, no allocation, no end-less
    /// loop.
    pub(crate) fn claim(&self) -> Option<Claimed<'_>> {
        let slot = self.slots.claim()?;
        Some(Claimed { ring: self, slot })
    }

    /// A slot to read.
    pub(crate) fn take(&self) -> Option<Taken<'_>> {
        let slot = self.slots.take()?;
        // SAFETY: the slot was ready, so a handler published it after it had
        // written a header (`Claimed::publish` is the only way, and Acquire
        // pairs with its Release); until this value is dropped nobody else
        // owns the slot, and it lies inside the mapping.
        let header = unsafe { *self.header(slot) };
        Some(Taken {
            ring: self,
            slot,
            header,
        })
    }

    fn header(&self, slot: usize) -> *mut Header {
        debug_assert!(slot < self.count);
        // SAFETY: `Slots` gives out numbers below `count`, so that the address
        // is inside the mapping.
        let start = unsafe { self.memory.start().add(slot * self.stride) };
        // A slot begins at the start of a page.
        start.cast().as_ptr()
    }

    fn stack(&self, slot: usize) -> *mut u8 {
        // SAFETY: a stride has room for a header and the stack behind it.
        unsafe { self.header(slot).cast::<u8>().add(HEADER_BYTES) }
    }
}

/// A slot that a handler owns.
#[derive(Debug)]
pub(crate) struct Claimed<'a> {
    ring: &'a Ring,
    slot: usize,
}

impl Claimed<'_> {
    /// Its number: no more than this many slots are free below it.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Where the stack goes: [`Ring::stack_bytes`] bytes that nobody else
    /// accesses for as long as the slot is claimed.
    pub(crate) fn stack(&mut self) -> *mut u8 {
        self.ring.stack(self.slot)
    }

    /// Hands the slot to the drain.
    pub(crate) fn publish(self, header: Header) {
        // SAFETY: the slot is claimed, so nobody else accesses it; it lies
        // inside the mapping, at the start of a page.
        unsafe { self.ring.header(self.slot).write(header) };
        self.ring.slots.publish(self.slot);
    }
}

/// A slot that the drain owns; free again when dropped.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    ring: &'a Ring,
    slot: usize,
    header: Header,
}

impl Taken<'_> {
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The copy of the stack, from the stack pointer upwards.
    pub(crate) fn stack(&self) -> &[u8] {
        let bytes = (self.header.stack_bytes as usize).min(self.ring.stack_bytes());
        // SAFETY: the bytes lie inside the slot, which nobody else accesses
        // while it is taken; fresh pages are zero, so all are initialised.
        unsafe { slice::from_raw_parts(self.ring.stack(self.slot), bytes) }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.ring.slots.release(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(weight: u64, stack_bytes: u32) -> Header {
        Header {
            registers: Registers {
                instruction: 1,
                stack: 2,
                frame: 3,
                link: 4,
            },
            thread_pointer: 5,
            weight,
            stack_bytes,
            thread_id: 6,
            thread: None,
            label: Label::NONE,
            copied: Copied::Plain,
            thread_name: [0; 16],
        }
    }

    #[test]
    fn what_is_written_is_read_and_slots_come_round() {
        let ring = Ring::new(3, 100).expect("memory");
        assert!(ring.stack_bytes() >= 100);
        for round in 0..10 {
            let mut weights = Vec::new();
            while let Some(mut claimed) = ring.claim() {
                let slot = claimed.slot() as u8;
                // SAFETY: it is within the stack's room, and the slot claimed.
                unsafe { claimed.stack().write_bytes(slot, 100) };
                weights.push(round + u64::from(slot));
                claimed.publish(header(round + u64::from(slot), 100));
            }
            assert_eq!(weights.len(), 3);
            while let Some(taken) = ring.take() {
                let weight = taken.header().weight;
                assert_eq!(taken.stack(), [(weight - round) as u8; 100]);
                weights.retain(|it| *it != weight);
            }
            assert!(weights.is_empty());
        }
    }

    #[test]
    fn the_lowest_free_slot_comes_first() {
        let ring = Ring::new(SLOTS_MAX, 0).expect("memory");
        for _ in 0..100 {
            let claimed = ring.claim().expect("free");
            assert_eq!(claimed.slot(), 0);
            claimed.publish(header(1, 0));
            drop(ring.take().expect("ready"));
        }
        let all: Vec<_> = std::iter::from_fn(|| ring.claim()).collect();
        assert_eq!(all.len(), SLOTS_MAX);
        assert!(ring.take().is_none());
    }

    #[test]
    fn a_lying_header_reads_no_further_than_its_slot() {
        let ring = Ring::new(1, 100).expect("memory");
        ring.claim().expect("free").publish(header(1, u32::MAX));
        let taken = ring.take().expect("ready");
        assert_eq!(taken.stack().len(), ring.stack_bytes());
    }
}
