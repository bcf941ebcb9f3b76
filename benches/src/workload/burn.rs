//! Work that is nothing but CPU time.

use std::collections::HashMap;
use std::hint::black_box;

pub(crate) use tachograph_test_support::burn;

/// The same amount of work in every call: sorting, hashing, allocating,
/// formatting.
#[inline(never)]
pub(crate) fn fixed_work(rounds: u32) -> usize {
    let mut kept = 0;
    for round in 0..rounds {
        let mut state = u64::from(round) | 1;
        let mut numbers: Vec<u64> = (0..4096)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            })
            .collect();
        numbers.sort_unstable();
        let texts: HashMap<u64, String> = numbers
            .iter()
            .step_by(8)
            .map(|number| (*number, number.to_string()))
            .collect();
        kept += black_box(texts).len();
    }
    kept
}

/// One frame of [`descend`] with what it keeps.
const FRAME: usize = 480;

/// Calls `work` from the end of a chain of 30 calls with 16 KiB on the stack,
/// and tells it where the stack is there.
pub(crate) fn at_depth(work: &mut dyn FnMut(usize)) {
    descend(30, work);
}

#[inline(never)]
fn descend(levels: u32, work: &mut dyn FnMut(usize)) {
    let frame = black_box([0_u8; FRAME]);
    match levels {
        0 => work(frame.as_ptr() as usize),
        _ => descend(levels - 1, work),
    }
    black_box(&frame);
}
