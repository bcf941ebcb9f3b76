//! The 300 runs of the reference implementation, through the real recorder.

#[path = "../../examples/replay/run.rs"]
mod run;

const VECTORS: &str = include_str!("../../../tests/vectors/schedule.jsonl");

#[test]
fn every_run_of_the_reference_comes_out_the_same() {
    let mut runs = 0;
    for line in VECTORS.lines() {
        let reference: run::Run = serde_json::from_str(line).expect("a vector");
        let (ours, directory) = run::run(&reference).expect(&reference.name);
        assert_eq!(ours, reference);

        // What is left agrees with what was seen: every capture but a failed
        // one, and nothing else.
        let saved = directory.captures();
        let failed = usize::from(reference.failed);
        assert_eq!(saved.len(), reference.captures.len() - failed);
        assert_eq!(directory.names().len(), 2 * saved.len());
        for ((_, sidecar), capture) in saved.iter().zip(&reference.captures) {
            assert_eq!(sidecar.reason, capture.reason);
        }
        runs += 1;
    }
    assert_eq!(runs, 300);
}
