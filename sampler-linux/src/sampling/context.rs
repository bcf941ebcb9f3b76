//! What the kernel tells of the interrupted thread, by architecture.

use super::ring::Registers;

/// Reads the registers out of a handler's third argument.
///
/// # Safety
///
/// `context` must be what the kernel passed to a handler that was installed
/// with `SA_SIGINFO`, and that handler must still run.
pub(crate) unsafe fn registers(context: *mut libc::c_void) -> Registers {
    // SAFETY: for such a handler the kernel passes a `ucontext_t`.
    let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    {
        let register = |number: libc::c_int| context.gregs[number as usize].cast_unsigned();
        Registers {
            instruction: register(libc::REG_RIP),
            stack: register(libc::REG_RSP),
            frame: register(libc::REG_RBP),
            link: 0,
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        Registers {
            instruction: context.pc,
            stack: context.sp,
            frame: context.regs[29],
            link: context.regs[30],
        }
    }
}

/// Copies memory that other threads may be writing to.
///
/// It is written in assembly since a racing access would be undefined in the
/// language; in the machine it merely reads one or the other value.
///
/// # Safety
///
/// `bytes` bytes must be mapped readable at `from`, and writable and nobody
/// else's at `to`; the two must not overlap.
#[inline]
pub(crate) unsafe fn copy_racing(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as the caller promises. The direction flag is clear on entry of
    // every function, and of a handler too: the kernel sees to that.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as the caller promises; pairs of eight bytes as long as there are
    // sixteen, then byte after byte.
    unsafe {
        std::arch::asm!(
            "2:",
            "cmp {bytes}, #16",
            "b.lo 3f",
            "ldp {a}, {b}, [{from}], #16",
            "stp {a}, {b}, [{to}], #16",
            "sub {bytes}, {bytes}, #16",
            "b 2b",
            "3:",
            "cbz {bytes}, 4f",
            "ldrb {a:w}, [{from}], #1",
            "strb {a:w}, [{to}], #1",
            "sub {bytes}, {bytes}, #1",
            "b 3b",
            "4:",
            bytes = inout(reg) bytes => _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            a = out(reg) _,
            b = out(reg) _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_length_and_nothing_more() {
        let from: Vec<u8> = (0..=255).collect();
        for bytes in [0, 1, 7, 15, 16, 17, 31, 32, 100, 255, 256] {
            let mut to = vec![0xaa; 300];
            // SAFETY: both are long enough and apart.
            unsafe { copy_racing(from.as_ptr(), to.as_mut_ptr(), bytes) };
            assert_eq!(to[..bytes], from[..bytes]);
            assert!(to[bytes..].iter().all(|byte| *byte == 0xaa));
        }
    }
}
