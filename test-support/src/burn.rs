//! Work that is nothing but CPU time.

use std::hint::black_box;
use std::time::Duration;

use crate::clock::thread_cpu;

/// About half a millisecond with optimisation.
const ROUNDS: u64 = 300_000;

/// The same work for each of `rounds`, and nothing here is a call, also
/// without optimisation: whoever samples this function finds it to be the leaf.
#[inline(never)]
pub fn spin_hot(rounds: u64, mut state: u64) -> u64 {
    let mut round = 0;
    while round < rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        round += 1;
    }
    black_box(state)
}

/// Uses `cpu` of the calling thread's CPU time, whatever else the machine does,
/// and returns how much it was exactly. 99.9 % of it goes into [`spin_hot`].
#[inline(never)]
pub fn burn(cpu: Duration) -> Duration {
    let start = thread_cpu();
    let mut state = 1;
    loop {
        let spent = thread_cpu() - start;
        if spent >= cpu {
            black_box(state);
            return spent;
        }
        state = spin_hot(ROUNDS, state);
    }
}
