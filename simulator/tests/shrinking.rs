//! What fails is made short, and can be kept and read again.

use tachograph_simulator::{History, Invariant, Sabotage, What, generate, judge, play, shrink};

fn is_broken(history: &History) -> bool {
    let record = play(history, Some(Sabotage::LostSidecar)).expect("a valid policy and limits");
    let broken = judge(history, &record);
    broken
        .iter()
        .any(|it| it.invariant == Invariant::LeavesNothingHalf)
}

#[test]
fn what_is_left_is_what_it_takes() {
    let long = (1..).map(generate).find(is_broken).expect("seeds go on");
    assert!(long.events.len() > 10, "{long:#?}");
    let short = shrink(&long, is_broken);
    // Whoever saves a capture has lost its sidecar: one start is enough, and
    // the time that one capture takes.
    assert!(is_broken(&short));
    assert_eq!(short.events.len(), 1, "{short:#?}");
    assert!(matches!(short.events[0].what, What::Start(_)));
    let ran_ms = short.length_ms - short.events[0].at_ms;
    assert!(ran_ms <= long.rhythm.capture_ms.max(30_000), "{short:#?}");
}

#[test]
fn a_history_is_data() {
    for seed in 1..20 {
        let history = generate(seed);
        assert_eq!(history, generate(seed));
        let json = serde_json::to_string(&history).expect("JSON");
        let read: History = serde_json::from_str(&json).expect("its own JSON");
        assert_eq!(read, history);
    }
}
