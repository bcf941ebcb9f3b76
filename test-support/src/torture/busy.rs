//! Threads that do what is hard to interrupt.

use std::hint::black_box;
use std::panic::{self, catch_unwind};
use std::time::Duration;
use std::{ptr, slice, thread};

use super::{Figures, Subject, on_threads};
use crate::{burn, spin_hot};

/// Panics, each of them caught, so that the unwinder of the process is at work
/// most of the time.
pub fn panics(subject: Subject<'_>, time: Duration) -> Figures {
    let hook = panic::take_hook();
    // A message for each would be all the output.
    panic::set_hook(Box::new(|_| {}));
    let figures = subject.sample(|| {
        on_threads(2, time, || {
            catch_unwind(|| panic!("expected"))
                .is_err_and(|panic| panic.downcast_ref() == Some(&"expected"))
        })
    });
    panic::set_hook(hook);
    figures
}

/// Memory of all sizes, so that the allocator's locks are taken most of the time.
pub fn allocations(subject: Subject<'_>, time: Duration) -> Figures {
    subject.sample(|| {
        on_threads(3, time, || {
            let mut all = Vec::new();
            for size in 0..400_usize {
                all.push(vec![size as u8; size * size]);
            }
            let all = black_box(all);
            let is_right = |(size, it): (usize, &Vec<u8>)| {
                it.len() == size * size && it.last().is_none_or(|last| *last == size as u8)
            };
            all.iter().enumerate().all(is_right)
        })
    })
}

/// Threads that end when they have hardly begun.
pub fn threads(subject: Subject<'_>, time: Duration) -> Figures {
    let expected = spin_hot(50_000, 1);
    subject.sample(|| {
        on_threads(4, time, || {
            let short = thread::spawn(|| {
                burn(Duration::from_micros(200));
                spin_hot(50_000, 1)
            });
            short.join().is_ok_and(|result| result == expected)
        })
    })
}

/// Mappings that are made, protected and given back.
pub fn mappings(subject: Subject<'_>, time: Duration) -> Figures {
    const BYTES: usize = 64 << 10;
    subject.sample(|| {
        on_threads(3, time, || {
            // SAFETY: only a new mapping is touched, where it is not protected,
            // and given back.
            unsafe {
                let start = libc::mmap(
                    ptr::null_mut(),
                    BYTES,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                );
                if start == libc::MAP_FAILED {
                    return false;
                }
                start.cast::<u8>().write_bytes(1, BYTES);
                let protected = libc::mprotect(start, BYTES / 2, libc::PROT_NONE);
                let rest = slice::from_raw_parts(start.cast::<u8>().add(BYTES / 2), BYTES / 2);
                let is_right = rest.iter().all(|byte| *byte == 1);
                protected == 0 && is_right && libc::munmap(start, BYTES) == 0
            }
        })
    })
}
