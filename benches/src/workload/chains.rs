//! Many functions: 704 chains of three, each function with an address of its
//! own that a profile has to name.

use std::hint::black_box;
use std::time::Duration;

use super::clock::thread_cpu;

type Chain = fn(Duration);

#[inline(never)]
fn outer<const NUMBER: usize>(cpu: Duration) {
    middle::<NUMBER>(cpu);
    black_box(NUMBER);
}

#[inline(never)]
fn middle<const NUMBER: usize>(cpu: Duration) {
    inner::<NUMBER>(cpu);
    black_box(NUMBER + 1);
}

#[inline(never)]
fn inner<const NUMBER: usize>(cpu: Duration) {
    let until = thread_cpu() + cpu;
    let mut state = NUMBER as u64 | 1;
    while thread_cpu() < until {
        let mut round = 0;
        while round < 50_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            round += 1;
        }
        black_box(state);
    }
}

/// Writes `outer::<0>` to `outer::<703>` as an array literal.
macro_rules! chains {
    ($($base:literal)*) => {
        [$(chains!(@ $base * 32;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)),*]
    };
    (@ $base:expr; $($offset:literal)*) => { [$(outer::<{ $base + $offset }>),*] };
}

static CHAINS: [[Chain; 32]; 22] = chains!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);

/// Spends `cpu` in each of the chains that fall to `part` of `parts`.
pub(crate) fn run_all(part: usize, parts: usize, cpu: Duration) {
    for chain in CHAINS.as_flattened().iter().skip(part).step_by(parts) {
        chain(cpu);
    }
}
