//! From the copy of a stack to its frames.

use framehop::{FrameAddress, Unwinder};

use super::machine::{Machine, Native};
use super::modules::{Frame, Modules};
use super::ring::{Header, Registers};

/// Deeper stacks are cut at their root's side.
const DEPTH_MAX: usize = 1024;

/// How the walk over a stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At the thread's first function.
    Root,
    /// Where the copy ended, or at the greatest depth.
    Cut,
    /// Where it could not go on.
    Broken,
}

/// Walks stacks, with what it learnt from earlier ones.
pub(crate) struct Walker<M: Machine = Native> {
    cache: <M::Unwinder as Unwinder>::Cache,
    frames: Vec<Frame>,
}

impl Walker {
    /// The frames of a stack, leaf first; all but the leaf are return
    /// addresses. `room` is how many bytes a copy can have.
    pub(crate) fn walk(
        &mut self,
        modules: &Modules,
        header: &Header,
        stack: &[u8],
        room: usize,
    ) -> (&[Frame], End) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let end = self.each(
            modules.unwinder(),
            &header.registers,
            stack,
            room,
            |address| {
                frames.push(modules.frame(address));
            },
        );
        self.frames = frames;
        (&self.frames, end)
    }
}

impl<M: Machine> Walker<M> {
    pub(crate) fn new() -> Self {
        Self {
            cache: Default::default(),
            frames: Vec::new(),
        }
    }

    /// Hands the addresses of [`walk`](Walker::walk) to `found`.
    fn each(
        &mut self,
        unwinder: &M::Unwinder,
        registers: &Registers,
        stack: &[u8],
        room: usize,
        mut found: impl FnMut(u64),
    ) -> End {
        let bottom = registers.stack;
        let mut beyond = false;
        let mut read = |address: u64| {
            let word = address
                .checked_sub(bottom)
                .and_then(|offset| usize::try_from(offset).ok())
                .and_then(|offset| stack.get(offset..offset.checked_add(8)?));
            match word.and_then(|word| word.try_into().ok()) {
                Some(word) => Ok(u64::from_le_bytes(word)),
                None => {
                    beyond = address > bottom;
                    Err(())
                }
            }
        };
        let first = M::registers(registers, unwinder);
        let mut walk =
            unwinder.iter_frames(registers.instruction, first, &mut self.cache, &mut read);
        let mut depth = 0;
        let end = loop {
            match walk.next() {
                Ok(Some(_)) if depth == DEPTH_MAX => break End::Cut,
                Ok(Some(frame)) => {
                    depth += 1;
                    found(address(frame));
                }
                Ok(None) => break End::Root,
                Err(_) => break End::Broken,
            }
        };
        let was_full = stack.len() >= room;
        match end {
            End::Broken if beyond && was_full => End::Cut,
            end => end,
        }
    }
}

fn address(frame: FrameAddress) -> u64 {
    match frame {
        FrameAddress::InstructionPointer(address) => address,
        FrameAddress::ReturnAddress(address) => address.into(),
    }
}

#[cfg(test)]
mod recorded;
