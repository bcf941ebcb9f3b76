//! Memory straight from the kernel, given back whole.

use std::io;
use std::ptr::{self, NonNull};

/// Zeroed pages that exist once they are touched.
///
/// Not from the allocator, which might keep what is freed, and might hand out
/// pages that were touched already. Private, so that a forked child writes to
/// copies.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is an address range that belongs to whoever has the value; which
// thread that is makes no difference to the kernel.
unsafe impl Send for Pages {}
// SAFETY: a shared reference gives out the address alone; access through it is
// argued where it happens.
unsafe impl Sync for Pages {}

impl Pages {
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses touches
        // nothing that exists.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(io::Error::from(io::ErrorKind::OutOfMemory)),
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is unmapped only here;
        // whoever borrowed from it borrowed `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
