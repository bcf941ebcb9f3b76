//! Captures at the highest frequency while the process does what is hard on a
//! sampler. Each case runs in a process of its own.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::print_stdout,
    reason = "what was measured, and what was skipped"
)]

mod common;

use std::collections::HashMap;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use common::{burn, own_process, start};
use tachograph_core::Sampler;
use tachograph_profile::Profile;
use tachograph_sampler_linux::LinuxSampler;
use tachograph_test_support::torture::{self, Figures, Subject};
use tachograph_test_support::{in_own_process, told};

/// How long each case goes on, by the clock and in CPU time.
const TIME: Duration = Duration::from_secs(5);

/// Runs a case of this test's name in a process of its own, and checks what holds
/// for every case.
fn torture(
    test: &str,
    case: fn(Subject<'_>, Duration) -> Figures,
    check: impl FnOnce(&Figures, &Profile),
) {
    in_own_process(test, || {
        let figures = case(Subject::linux(&LinuxSampler::new()), TIME);
        println!("{test}: {figures}");
        assert_eq!(figures.results.wrong, 0, "{figures}");
        assert!(figures.results.right > 0, "{figures}");
        let profile = figures.profile.as_ref().expect("there is one");
        for line in profile.comments() {
            println!("{line}");
        }
        check(&figures, profile);
    });
}

fn is_covered(figures: &Figures) {
    let share = figures.share(LinuxSampler::new().info().frequency_hz_max);
    println!("covered {share:.3}");
    assert!((0.8..=1.2).contains(&share), "{share}");
}

fn is_whole(profile: &Profile) {
    assert!(told(profile, "broken") <= told(profile, "kept") * 0.02);
}

#[test]
fn panics() {
    torture("panics", torture::panics, |figures, profile| {
        is_covered(figures);
        is_whole(profile);
    });
}

#[test]
fn allocations() {
    torture("allocations", torture::allocations, |figures, profile| {
        is_covered(figures);
        is_whole(profile);
    });
}

#[test]
fn threads() {
    torture("threads", torture::threads, |figures, _| {
        is_covered(figures)
    });
}

#[test]
fn libraries() {
    torture("libraries", torture::libraries, |figures, profile| {
        is_covered(figures);
        is_whole(profile);
        let mut by_leaf: HashMap<&str, i64> = HashMap::new();
        for sample in profile.samples() {
            let leaf = sample.frames().next().expect("a leaf");
            let module = leaf.mapping().map_or("[unknown]", |it| it.path());
            let module = module.rsplit('/').next().expect("a name");
            *by_leaf.entry(module).or_default() += sample.value("samples").expect("a count");
        }
        println!("{by_leaf:?}");
        let all: i64 = by_leaf.values().sum();
        assert!(by_leaf.get("libm.so.6").copied().unwrap_or(0) > all / 2);
        assert!(by_leaf.get("[unknown]").copied().unwrap_or(0) <= all / 50);
    });
}

#[test]
fn mappings() {
    torture("mappings", torture::mappings, |figures, _| {
        is_covered(figures)
    });
}

#[test]
fn children() {
    torture("children", torture::children, |figures, _| {
        is_covered(figures)
    });
}

#[test]
fn recursion() {
    torture("recursion", torture::recursion, |figures, profile| {
        is_covered(figures);
        let deepest = profile.samples().map(|it| it.stack().count()).max();
        assert!(deepest > Some(200), "{deepest:?}");
        assert!(told(profile, "cut") > 0.0);
    });
}

#[test]
fn blocking_calls() {
    torture("blocking_calls", torture::blocking_calls, |figures, _| {
        is_covered(figures);
    });
}

#[test]
fn starts_and_stops() {
    torture(
        "starts_and_stops",
        torture::starts_and_stops,
        |figures, _| {
            // Captures this short miss what the kernel has not looked at yet.
            assert!(figures.samples > 100, "{figures}");
        },
    );
}

#[test]
fn another_user_of_the_signal() {
    let case = torture::another_user_of_the_signal;
    torture("another_user_of_the_signal", case, |figures, _| {
        is_covered(figures)
    });
}

#[test]
fn an_overflow_still_says_so() {
    #[inline(never)]
    fn descend(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        if depth == u64::MAX {
            return 0;
        }
        descend(depth + 1) ^ frame[7]
    }

    for attempt in 0..5 {
        let output = own_process("an_overflow_still_says_so", || {
            let session = start(1000);
            let burner = thread::spawn(|| burn(Duration::from_secs(60)));
            burn(Duration::from_millis(20));
            let overflowing = thread::Builder::new().stack_size(64 << 20);
            let overflowing = overflowing.spawn(|| descend(black_box(0)));
            let _ = overflowing.expect("a thread").join();
            drop((session, burner));
        });
        let Some(output) = output else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            errors.contains("has overflowed its stack"),
            "{attempt}: {}\n{errors}",
            output.status
        );
    }
}
