//! Whether stacks are whole in a service that was built without frame pointers.

use super::super::bench::Bench;
use super::super::spread::Spread;
use super::super::stacks::Stack;
use super::super::subjects::Subject;
use super::super::table::Row;

/// How many frames of the C library may be below the first of Rust.
const BELOW: usize = 4;

pub(super) fn measure(bench: &mut Bench) -> Vec<Row> {
    let mut row = Row::new(
        "stacks that reach their root, tokio + hyper + serde",
        "≥ 99.5 %",
    )
    .limited_by("Where those end that do not is listed below.");
    for (subject, hz) in [
        (Subject::Linux, 1000.0),
        (Subject::Pprof, 100.0),
        (Subject::Crate, 100.0),
        (Subject::Perf, 199.0),
    ] {
        let values = [("hz", hz), ("seconds", bench.seconds(4.0))];
        let runs = bench.runs(3, subject, "roots", &values);
        let reached: Spread = runs
            .iter()
            .map(|run| {
                let all = run.stacks.count(is_service);
                100.0 * run.stacks.count(|it| is_service(it) && is_whole(it)) / all
            })
            .collect();
        row.cell(subject, &reached, 2, " %");
        if subject == Subject::Linux {
            row.judge(&reached, |reached| reached >= 99.5);
        }
        let short = runs
            .iter()
            .flat_map(|run| &run.stacks.all)
            .filter(|stack| is_service(stack) && !is_whole(stack))
            .max_by(|one, other| one.count.total_cmp(&other.count));
        if let Some(stack) = short {
            row.note(format!(
                "{}: the commonest that does not has {} frames, ends at {} and begins at {}",
                subject.name(),
                stack.frames.len(),
                stack.frames.last().map_or("nothing", String::as_str),
                stack.leaf()
            ));
        }
        if subject == Subject::Linux {
            let told = |what: &str| -> Spread {
                runs.iter()
                    .filter_map(|run| run.stacks.told(what))
                    .collect()
            };
            row.note(format!(
                "sampler-linux itself counts {} samples of a run as cut and {} as broken",
                told(" cut").show(0),
                told(" broken").show(0)
            ));
        }
    }
    vec![row]
}

fn is_service(stack: &Stack) -> bool {
    stack.thread.starts_with("service")
}

fn is_whole(stack: &Stack) -> bool {
    let first = |name: &String| {
        name.contains("thread_start") || name.ends_with("lang_start") || name == "main"
    };
    stack.frames.iter().rev().take(BELOW).any(first)
}
