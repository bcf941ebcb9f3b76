//! What walking a stack needs to know of an architecture.
//!
//! Outside of this file and [`context`](super::context) nothing depends on it,
//! so that the stacks of one can be walked on the other.

use framehop::{MayAllocateDuringUnwind, Module, Unwinder};

use super::elf::Bytes;
use super::ring::Registers;

/// An architecture whose stacks can be walked.
pub(crate) trait Machine {
    type Unwinder: Unwinder<Module = Module<Bytes>, Cache: Default>;

    /// What a walk through code that `unwinder` knows begins with.
    fn registers(
        registers: &Registers,
        unwinder: &Self::Unwinder,
    ) -> <Self::Unwinder as Unwinder>::UnwindRegs;
}

#[cfg(target_arch = "x86_64")]
pub(crate) type Native = X86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) type Native = Aarch64;

#[cfg(target_arch = "x86_64")]
pub(crate) struct X86_64;

#[cfg(target_arch = "x86_64")]
impl Machine for X86_64 {
    type Unwinder = framehop::x86_64::UnwinderX86_64<Bytes, MayAllocateDuringUnwind>;

    fn registers(
        registers: &Registers,
        _unwinder: &Self::Unwinder,
    ) -> framehop::x86_64::UnwindRegsX86_64 {
        framehop::x86_64::UnwindRegsX86_64::new(
            registers.instruction,
            registers.stack,
            registers.frame,
        )
    }
}

#[cfg(any(target_arch = "aarch64", test))]
pub(crate) struct Aarch64;

/// An address near the end of the smallest user space that Linux has on
/// aarch64, which is one of 39 bits.
#[cfg(any(target_arch = "aarch64", test))]
const ADDRESS_NEAR_END_MIN: u64 = 1 << 38;

#[cfg(any(target_arch = "aarch64", test))]
impl Machine for Aarch64 {
    type Unwinder = framehop::aarch64::UnwinderAarch64<Bytes, MayAllocateDuringUnwind>;

    /// Functions may sign their return address, in the bits that no address
    /// has. How many addresses have is up to the kernel, which loads the
    /// dynamic linker and the vDSO near the end of what there is.
    fn registers(
        registers: &Registers,
        unwinder: &Self::Unwinder,
    ) -> framehop::aarch64::UnwindRegsAarch64 {
        let near_end = unwinder.max_known_code_address().max(ADDRESS_NEAR_END_MIN);
        framehop::aarch64::UnwindRegsAarch64::new_with_ptr_auth_mask(
            framehop::aarch64::PtrAuthMask::from_max_known_address(near_end),
            registers.link,
            registers.stack,
            registers.frame,
        )
    }
}
