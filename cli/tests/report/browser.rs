//! The page in a real browser: what it shows after clicks, drags, filters, comparisons and
//! searches is what was recorded, and it asks nobody for anything.

use serde_json::json;

use crate::expected::{Filter, Sums, assert_shows, numbers, seconds};
use crate::node::in_browser;
use crate::page::{Desk, Model};
use crate::recording::Capture;
use crate::shown::Shown;
use crate::three_days;

#[test]
fn the_page_shows_what_was_recorded_whatever_is_done_to_it() {
    let desk = Desk::new();
    let captures = three_days::write(&desk.recorded());
    desk.report(1);
    let (task, thread, search) = ("compaction", "tokio-rt-worker-2", "memcmp");
    let zoom = "service::library::count_words";
    let plan = json!({
        "click": 20, "shift": 31, "toggle": 40, "drag": [100, 149],
        "task": task, "thread": thread, "search": search, "zoom": zoom,
        "compare": [[10, 29], [200, 209]],
    });
    let Some(shown) = in_browser(
        "report/explore.mjs",
        &[desk.page().as_os_str(), plan.to_string().as_ref()],
    ) else {
        return;
    };
    assert_eq!(shown["requests"], json!([]), "no request leaves the page");
    assert_eq!(
        shown["complaints"],
        json!([]),
        "nothing is complained about"
    );
    let step = |name: &str| Shown(&shown["steps"][name]);
    let filtered =
        |indices: &[usize], filter| Sums::of(indices.iter().map(|&it| &captures[it]), filter);
    let sums = |indices: &[usize]| filtered(indices, Filter::default());
    let every: Vec<usize> = (0..captures.len()).collect();
    let all = sums(&every);

    let opened = step("opened");
    assert_eq!(opened.0["title"], "profiles · Tachograph");
    assert_eq!(opened.0["captures"], json!(captures.len()));
    assert_eq!(opened.selected(), every);
    opened.assert_one(&all);
    opened.assert_facets(&all, &all);
    assert_facts(&opened, &captures, &all);
    let counted = opened.frames_of(zoom);
    assert_eq!(counted.len(), 1, "it has one caller");
    assert_shows(
        counted[0],
        &[
            seconds(all.cumulative[zoom]),
            all.percent(all.cumulative[zoom]),
        ],
    );

    let range = |from: usize, to: usize| (from..=to).collect::<Vec<_>>();
    for (name, selected) in [
        ("clicked", vec![20]),
        ("ranged", range(20, 31)),
        ("toggled", range(20, 31).into_iter().chain([40]).collect()),
        ("dragged", range(100, 149)),
        ("entered", vec![5]),
        ("extended", range(5, 8)),
        ("all", every.clone()),
        ("compares no more", range(10, 29)),
    ] {
        assert_eq!(step(name).selected(), selected, "{name}");
        step(name).assert_one(&sums(&selected));
    }
    assert!(
        step("dragging").0["tip"]
            .as_str()
            .expect("a tip")
            .starts_with("50\u{a0}captures")
    );
    let cleared = step("cleared");
    assert!(cleared.selected().is_empty());
    assert!(cleared.list("rows").is_empty() && cleared.list("frames").is_empty());
    assert!(cleared.texts("empty")[0].starts_with("No capture is selected."));
    assert_eq!(
        step("zoomed in time").0["captures"],
        json!(4),
        "only those that are selected"
    );

    let of_task = filtered(
        &every,
        Filter {
            task: Some(task),
            ..Filter::default()
        },
    );
    let of_thread = filtered(
        &every,
        Filter {
            thread: Some(thread),
            ..Filter::default()
        },
    );
    let of_both = filtered(
        &every,
        Filter {
            task: Some(task),
            thread: Some(thread),
            ..Filter::default()
        },
    );
    step("task").assert_one(&of_task);
    step("task").assert_facets(&all, &of_task);
    step("task and thread").assert_one(&of_both);
    step("task and thread").assert_facets(&of_thread, &of_task);
    step("thread").assert_one(&of_thread);

    let searched = step("searched");
    let matched = filtered(
        &every,
        Filter {
            search,
            ..Filter::default()
        },
    )
    .matched;
    let said = searched.0["matched"].as_str().expect("a sentence");
    assert_shows(said, &[1.0, all.percent(matched), seconds(matched)]);
    for frame in searched.list("frames") {
        let is_match = frame["label"].as_str().expect("a label").contains(search);
        assert_eq!(frame["matches"], json!(is_match), "{frame}");
    }
    assert!(
        searched
            .list("frames")
            .iter()
            .any(|it| it["matches"] == true)
    );
    assert_eq!(searched.list("rows").len(), 1);

    let own = Sums::of(&own_alone(&captures, &desk.model()), Filter::default());
    assert!(own.cumulative.len() < all.cumulative.len());
    step("own").assert_one(&own);
    assert_eq!(step("own no more").0["frames"], opened.0["frames"]);

    assert_flames(&step, &all, zoom);
    let sorted: Vec<_> = step("sorted")
        .list("rows")
        .iter()
        .map(|it| it[2].to_string())
        .collect();
    let sorted: Vec<_> = sorted.iter().map(|it| numbers(it)[0].0).collect();
    assert!(sorted.is_sorted_by(|one, two| one >= two), "{sorted:?}");

    assert_comparisons(&step, &captures, task, search);

    let colours = &shown["colours"];
    assert_ne!(colours["light"], colours["dark"]);
    assert_eq!(colours["light"], colours["chosenLight"]);
    assert_eq!(colours["light"], colours["printed"], "paper is light");
    assert_eq!(colours["dark"], colours["chosenDark"]);
    assert_eq!(shown["help"], json!([true, false]));
    take_pictures(&desk);
}

/// The captures without the frames that the page takes for those of libraries.
fn own_alone(captures: &[Capture], model: &Model) -> Vec<Capture> {
    let libraries = model.libraries();
    assert!(libraries.contains("clone3") && !libraries.contains("service::library::count_words"));
    let mut captures = captures.to_vec();
    for sample in captures.iter_mut().flat_map(|it| &mut it.samples) {
        sample.stack.retain(|it| !libraries.contains(it));
    }
    captures
}

#[track_caller]
fn assert_facts(opened: &Shown<'_>, captures: &[Capture], all: &Sums) {
    let fact = |name: &str| opened.amount("facts", name);
    let triggered = captures
        .iter()
        .filter(|it| it.sidecar["Reason"] != "periodic")
        .count();
    assert_shows(fact("Captures"), &[captures.len() as f64, triggered as f64]);
    let of = |field: &str| {
        let values = captures
            .iter()
            .map(|it| it.sidecar[field].as_f64().expect(field));
        values.sum::<f64>()
    };
    assert_shows(fact("Samples"), &[of("Samples"), of("Lost")]);
    assert_shows(fact("CPU time sampled"), &[seconds(all.nanos)]);
    assert_eq!(
        fact("First capture"),
        "30\u{a0}Nov\u{a0}2026, 08:00:00\u{a0}UTC"
    );
    assert_eq!(fact("Deadline"), "3\u{a0}Dec\u{a0}2026, 08:00:00\u{a0}UTC");
    assert!(fact("Build id").contains("last of 2 builds"));
    let notes = opened.texts("notes").join("\n");
    for told in [
        "the process died during it",
        "cut short",
        "restarted",
        "Another build",
        "Longer than usual",
        "dropped in the cooldown",
    ] {
        assert!(notes.contains(told), "{told}");
    }
}

/// What zooming and grouping show of all captures.
fn assert_flames<'a>(step: &impl Fn(&str) -> Shown<'a>, all: &Sums, zoom: &str) {
    let zoomed = step("zoomed");
    let frames = zoomed.list("frames");
    let place = frames
        .iter()
        .position(|it| it["label"].as_str().is_some_and(|it| it.starts_with(zoom)));
    let place = place.expect("the frame that was clicked");
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(frame["isAbove"], json!(number < place), "{frame}");
    }
    assert_eq!(frames[place]["width"], "100%");
    assert_eq!(frames[place]["level"], json!(place + 1));
    assert_shows(zoomed.frames_of(zoom)[0], &[seconds(all.cumulative[zoom])]);
    assert_eq!(step("zoomed out").0["frames"], step("opened").0["frames"]);
    let by_key = step("zoomed by keyboard");
    let widest = by_key.frames(2, "clone3");
    assert_shows(widest[0], &[seconds(all.cumulative["clone3"])]);
    assert_eq!(
        by_key
            .list("frames")
            .iter()
            .filter(|it| it["level"] == 2)
            .count(),
        1
    );

    for (name, by) in [("by task", &all.by_task), ("by thread", &all.by_thread)] {
        let shown = step(name);
        for (root, &nanos) in by {
            let frames = shown.frames(2, root);
            assert_eq!(frames.len(), 1, "{root}");
            assert_shows(frames[0], &[seconds(nanos), all.percent(nanos)]);
        }
        assert_eq!(
            shown
                .list("frames")
                .iter()
                .filter(|it| it["level"] == 2)
                .count(),
            by.len()
        );
    }
}

/// What comparisons show: the usual one, the same in shares and swapped, and one that was
/// picked by hand, filtered and searched.
fn assert_comparisons<'a>(
    step: &impl Fn(&str) -> Shown<'a>,
    captures: &[Capture],
    task: &str,
    search: &str,
) {
    let sums = |of: &[Capture], filter| Sums::of(of, filter);
    let is_periodic = |it: &Capture| it.sidecar["Reason"] == "periodic";
    let last = |wanted: bool| {
        captures
            .iter()
            .rposition(|it| is_periodic(it) == wanted)
            .expect("one")
    };
    let one = |place: usize| sums(&captures[place..=place], Filter::default());
    let (base, other) = (one(last(true)), one(last(false)));
    let cores = |sums: &Sums, nanos| sums.cores(nanos);
    let percent = |sums: &Sums, nanos| sums.percent(nanos);
    assert_compared(&step("usual"), &base, &other, cores);
    assert_compared(&step("shares"), &base, &other, percent);
    assert_compared(&step("swapped"), &other, &base, cores);

    let filter = Filter {
        task: Some(task),
        search,
        ..Filter::default()
    };
    let (base, other) = (
        sums(&captures[10..=29], filter),
        sums(&captures[200..=209], filter),
    );
    let compared = step("compared");
    assert_compared(&compared, &base, &other, cores);
    let (before, after) = (base.cores(base.matched), other.cores(other.matched));
    let said = compared.0["matched"].as_str().expect("a sentence");
    assert_shows(said, &[1.0, before, after, after - before]);
}

/// `amount` is what the comparison is in.
#[track_caller]
fn assert_compared(
    shown: &Shown<'_>,
    base: &Sums,
    other: &Sums,
    amount: impl Fn(&Sums, i64) -> f64,
) {
    let [one, two] = shown.texts("cpu")[..] else {
        panic!("two selections")
    };
    assert_shows(one, &[seconds(base.nanos)]);
    assert_shows(two, &[seconds(other.nanos)]);
    let three = |of: &dyn Fn(&Sums) -> i64| {
        let (before, after) = (amount(base, of(base)), amount(other, of(other)));
        [before, after, after - before]
    };
    let root = shown.frames(1, "everything");
    assert_shows(root[0], &three(&|it| it.nanos));
    let mut compared = 0;
    for row in shown.list("rows") {
        let cell = |place: usize| row[place].as_str().expect("a cell");
        let name = cell(6);
        if !base.cumulative.contains_key(name) && !other.cumulative.contains_key(name) {
            continue;
        }
        let value =
            |of: &std::collections::HashMap<String, i64>| of.get(name).copied().unwrap_or(0);
        let own = three(&|it| value(&it.own));
        let cumulative = three(&|it| value(&it.cumulative));
        for (place, expected) in own.into_iter().chain(cumulative).enumerate() {
            assert_shows(cell(place), &[expected]);
        }
        compared += 1;
    }
    assert!(compared > 0, "rows to compare");
}

/// Makes the pictures of the documentation anew, if asked to.
fn take_pictures(desk: &Desk) {
    if let Some(folder) = std::env::var_os("TACHOGRAPH_SCREENSHOTS") {
        in_browser(
            "report/screenshots.mjs",
            &[desk.page().as_os_str(), &folder],
        );
    }
}
