//! Real samples of real work.
//!
//! There is one profiler in a process, so the tests take turns. What they
//! assert must hold on a loaded machine: names, labels, sums, and shares within
//! bounds that come from the number of samples.

#![cfg(any(target_os = "linux", target_os = "macos"))]

use tachograph_sampler_pprof::{Names, PprofSampler};
use tachograph_test_support::{sampling, turn};

#[test]
fn keeps_the_contract() {
    let _turn = turn();
    sampling::keeps_the_contract(&PprofSampler::new());
}

#[test]
fn the_hot_function_is_the_leaf_and_values_are_cpu_time() {
    let _turn = turn();
    let seen = sampling::the_hot_function_is_the_leaf(&PprofSampler::new(), |_| {});
    // No sample of ours is weightless, and none weighs time nobody used.
    let cpu = seen.profile.total("cpu").expect("a sum");
    assert!(u128::try_from(cpu).expect("positive") <= seen.used.as_nanos());
    assert!(cpu >= 2_000_000_000, "{cpu}");
}

#[test]
fn names_from_debug_information_have_lines() {
    let _turn = turn();
    let sampler = PprofSampler::new().names(Names::Debug);
    sampling::names_from_debug_information_have_lines(&sampler);
}

#[test]
fn three_tasks_interleaved_on_two_threads_come_out_in_their_shares() {
    let _turn = turn();
    let sampler = PprofSampler::new();
    let seen = sampling::three_tasks_on_two_threads_come_out_in_their_shares(&sampler);
    // About 600 samples: one standard deviation is 2 points.
    assert!(seen.off_by < 10.0, "{seen:?}");
}

#[test]
fn a_nested_task_has_its_own_label() {
    let _turn = turn();
    sampling::a_nested_task_has_its_own_label(&PprofSampler::new());
}

#[test]
fn an_entry_that_is_interrupted_leaves_no_marker() {
    let _turn = turn();
    sampling::an_entry_that_is_interrupted_leaves_no_marker(&PprofSampler::new());
}

#[test]
fn a_bad_name_hides_the_task_around_it() {
    let _turn = turn();
    sampling::a_bad_name_hides_the_task_around_it(&PprofSampler::new());
}

#[test]
fn a_task_beyond_the_cut_of_a_deep_stack_is_not_passed_over() {
    let _turn = turn();
    for (depth, label) in [(50, "deep"), (300, "(unknown: stack cut)")] {
        sampling::a_task_at_the_root_of_a_deep_stack(&PprofSampler::new(), depth, label);
    }
}

#[test]
fn others_exclude_it() {
    let _turn = turn();
    sampling::others_exclude_it(&PprofSampler::new());
}
