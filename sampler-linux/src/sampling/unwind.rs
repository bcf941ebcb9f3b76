//! From the copy of a stack to its frames.

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder};

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
pub(crate) struct Walker {
    cache: CacheNative<MayAllocateDuringUnwind>,
    frames: Vec<Frame>,
}

impl Walker {
    pub(crate) fn new() -> Self {
        Self {
            cache: CacheNative::new(),
            frames: Vec::new(),
        }
    }

    /// The frames of a stack, leaf first; all but the leaf are return
    /// addresses. `room` is how many bytes a copy can have.
    pub(crate) fn walk(
        &mut self,
        modules: &Modules,
        header: &Header,
        stack: &[u8],
        room: usize,
    ) -> (&[Frame], End) {
        self.frames.clear();
        let bottom = header.registers.stack;
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
        let mut walk = modules.unwinder().iter_frames(
            header.registers.instruction,
            native(&header.registers),
            &mut self.cache,
            &mut read,
        );
        let end = loop {
            match walk.next() {
                Ok(Some(_)) if self.frames.len() == DEPTH_MAX => break End::Cut,
                Ok(Some(frame)) => self.frames.push(modules.frame(address(frame))),
                Ok(None) => break End::Root,
                Err(_) => break End::Broken,
            }
        };
        let was_full = stack.len() >= room;
        let end = match end {
            End::Broken if beyond && was_full => End::Cut,
            end => end,
        };
        (&self.frames, end)
    }
}

fn address(frame: FrameAddress) -> u64 {
    match frame {
        FrameAddress::InstructionPointer(address) => address,
        FrameAddress::ReturnAddress(address) => address.into(),
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.link, registers.stack, registers.frame)
}
