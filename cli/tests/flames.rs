//! What flame graphs say.

mod common;

use common::{data, printed};

fn flame(arguments: &[&str]) -> String {
    printed(["flame", "--no-local-binaries"].iter().chain(arguments))
}

/// What stands in the box of a frame, when it is pointed at.
fn title<'a>(svg: &'a str, name: &str) -> &'a str {
    let titles = svg.split("<title>").skip(1);
    let mut titles = titles.filter_map(|it| it.split("</title>").next());
    let found = titles.find(|it| it.starts_with(&format!("{name} (")));
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn boxes_have_the_sums_and_tasks_are_at_the_root() {
    let service = data("service");
    let service = service.to_str().expect("UTF-8");
    let svg = flame(&["--by", "task", service]);
    let by_task = printed([
        "top",
        "--no-local-binaries",
        "--by",
        "task",
        "--json",
        service,
    ]);
    let by_task: serde_json::Value = serde_json::from_str(&by_task).expect("JSON");
    let tables = by_task["tables"].as_array().expect("tables");
    assert!(tables.len() > 1);
    for table in tables {
        let name = match table["text"].as_str() {
            Some(task) => format!("task {task}"),
            None => "(no task)".to_owned(),
        };
        let shown: String = title(&svg, &name).chars().filter(|it| *it != ',').collect();
        let sum = table["total"].as_i64().expect("a number");
        assert!(
            shown.contains(&format!("({sum} nanoseconds")),
            "{shown} for {sum}"
        );
    }
}

#[test]
fn a_comparison_is_by_equal_times() {
    let own = data("service");
    let own = own.to_str().expect("UTF-8");
    let other = data("service_smol");
    let other = other.to_str().expect("UTF-8");
    let same = flame(&["--diff", own, "--app", own]);
    let shown = title(&same, "service::run_jobs::{{closure}}");
    assert!(
        shown.ends_with("; 0.00%)") || shown.ends_with("; +0.00%)"),
        "{shown}"
    );
    let changed = flame(&["--diff", other, "--app", own]);
    let shown = title(&changed, "service::run_jobs::{{closure}}");
    assert!(shown.contains("; +"), "it is new: {shown}");
}
