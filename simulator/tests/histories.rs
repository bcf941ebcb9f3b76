//! Random histories, fewer than the command plays, and those that broke
//! something once.

use tachograph_simulator::{judge, play, regressions, run};

/// Where the ordinary run begins; the command begins elsewhere by `--seed`.
const SEED: u64 = 1;
const HISTORIES: u64 = 200;

#[test]
fn every_invariant_holds_in_random_histories() {
    let tally = run(SEED..SEED + HISTORIES);
    let failures: Vec<_> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(tally.histories, HISTORIES);
    // Whatever can happen did.
    for (what, at_least) in [
        ("recorders", 500),
        ("captures", 5000),
        ("captures skipped", 100),
        ("requests in the cooldown", 100),
        ("requests behind another", 10),
        ("requests that met busy", 5),
        ("deaths", 100),
        ("drivers dropped", 20),
        ("second recorders", 20),
        ("starts after the window", 5),
        ("windows too long", 5),
        ("ends at the deadline", 20),
        ("ends by a stop", 20),
        ("ends by a budget", 20),
        ("ends by three deaths", 20),
        ("ends by a failure", 20),
        ("ends by a drop", 20),
    ] {
        let times = tally.count(what);
        assert!(times >= at_least, "{what}: {times} times only");
    }
}

#[test]
fn what_broke_something_once_no_longer_does() {
    for (name, history) in regressions::all().expect("the folder is readable") {
        let record = play(&history, None).expect("a valid policy and limits");
        assert_eq!(judge(&history, &record), [], "{name}");
    }
}
