//! The sampler under conditions that break samplers, each in a process of its
//! own. What the `pprof` crate cannot bear is shown by the examples of this crate,
//! and its documentation says so.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "what was measured")]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use tachograph_sampler_pprof::PprofSampler;
use tachograph_test_support::torture::{self, Figures, Subject};
use tachograph_test_support::{in_own_process, run_alone};

/// How long each case goes on, by the clock and in CPU time.
const TIME: Duration = Duration::from_secs(5);

/// Runs a case of this test's name in a process of its own.
fn torture(test: &str, case: fn(Subject<'_>, Duration) -> Figures) {
    in_own_process(test, || {
        let figures = case(Subject::pprof(&PprofSampler::new()), TIME);
        println!("{test}: {figures}");
        assert_eq!(figures.results.wrong, 0, "{figures}");
        assert!(figures.results.right > 0, "{figures}");
        assert!(figures.samples > 0, "{figures}");
    });
}

#[test]
fn panics() {
    torture("panics", torture::panics);
}

#[test]
fn allocations() {
    torture("allocations", torture::allocations);
}

#[test]
fn threads() {
    torture("threads", torture::threads);
}

#[test]
fn libraries() {
    torture("libraries", torture::libraries);
}

#[test]
fn mappings() {
    torture("mappings", torture::mappings);
}

#[test]
fn children() {
    torture("children", torture::children);
}

#[test]
fn recursion_to_where_a_handler_still_has_room() {
    let test = "recursion_to_where_a_handler_still_has_room";
    torture(test, torture::recursion);
}

#[test]
fn blocking_calls() {
    torture("blocking_calls", torture::blocking_calls);
}

#[test]
fn starts_and_stops() {
    torture("starts_and_stops", torture::starts_and_stops);
}

#[test]
fn another_user_of_the_signal() {
    torture(
        "another_user_of_the_signal",
        torture::another_user_of_the_signal,
    );
}

/// The signal that ended the example `name`; nothing if it is not there.
fn end_of(name: &str) -> Option<i32> {
    let program = std::env::current_exe().expect("this program");
    let profile = program.parent().and_then(|deps| deps.parent());
    let example = profile.map(|profile| profile.join("examples").join(name));
    let Some(example) = example.filter(|it| it.exists()) else {
        println!("SKIPPED: build the examples first, as `cargo test` without `--test` does");
        return None;
    };
    let output = run_alone(&mut Command::new(example), Duration::from_secs(900));
    let output = output.expect("it runs").expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("lived"), "documented as fatal: {said}");
    Some(output.status.signal().expect("it is killed"))
}

#[test]
fn an_exec_during_a_capture_is_fatal_as_documented() {
    if let Some(signal) = end_of("exec_while_sampling") {
        assert_eq!(signal, libc::SIGPROF);
    }
}

#[test]
fn a_sample_at_the_end_of_a_stack_is_fatal_as_documented() {
    if let Some(signal) = end_of("stack_almost_used_up") {
        // Of the overflow itself, or of what Rust does about it.
        assert!([libc::SIGSEGV, libc::SIGABRT].contains(&signal), "{signal}");
    }
}
