//! Stacks that are all but used up.

use std::hint::black_box;
use std::time::Duration;
use std::{mem, ptr};

use super::{Figures, Subject, on_threads};
use crate::spin_hot;

/// Threads that recurse until no more of their stack is left than the sampler
/// needs, and work there.
pub fn recursion(subject: Subject<'_>, time: Duration) -> Figures {
    let expected = spin_hot(ROUNDS, 1);
    let leave = subject.stack_bytes_left;
    subject.sample(|| {
        on_threads(2, time, || {
            let mut left = usize::MAX;
            let result = descend(stack_end(), leave, &mut left);
            result == expected && left < leave
        })
    })
}

const ROUNDS: u64 = 100_000;

/// Where this thread's stack may not go.
fn stack_end() -> usize {
    // SAFETY: the attributes are initialised by the first call, read by the
    // others, and destroyed.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        let own = libc::pthread_self();
        assert_eq!(libc::pthread_getattr_np(own, &raw mut attributes), 0);
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes);
        libc::pthread_attr_destroy(&raw mut attributes);
        start as usize
    }
}

/// Calls itself until less than `leave` bytes are `left`.
#[inline(never)]
fn descend(end: usize, leave: usize, left: &mut usize) -> u64 {
    let here = 0_u64;
    *left = (&raw const here as usize).saturating_sub(end);
    if *left < leave {
        return spin_hot(ROUNDS, 1);
    }
    let result = descend(end, leave, left);
    black_box(here) ^ result
}
