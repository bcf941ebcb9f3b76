//! What a page showed, to be compared with what it must show.

use serde_json::Value;

use crate::expected::{Sums, assert_shows, seconds};

/// What a page showed after a step.
pub(crate) struct Shown<'a>(pub(crate) &'a Value);

impl<'a> Shown<'a> {
    pub(crate) fn list(&self, key: &str) -> &'a Vec<Value> {
        self.0[key].as_array().expect(key)
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<&'a str> {
        self.list(key)
            .iter()
            .map(|it| it.as_str().expect(key))
            .collect()
    }

    pub(crate) fn selected(&self) -> Vec<usize> {
        let indices = self.list("selected").iter();
        indices
            .map(|it| it.as_u64().expect("an index") as usize)
            .collect()
    }

    /// Amounts by name, of the lists of tasks and threads.
    #[track_caller]
    pub(crate) fn amount(&self, list: &str, name: &str) -> &'a str {
        let found = self.list(list).iter().find(|it| it[0] == name);
        found.unwrap_or_else(|| panic!("{name} in {list}"))[1]
            .as_str()
            .expect("an amount")
    }

    /// Labels of the frames of a name, without it, at a level; from 1.
    pub(crate) fn frames(&self, level: u64, name: &str) -> Vec<&'a str> {
        self.list("frames")
            .iter()
            .filter(|it| it["level"] == level)
            .filter_map(|it| it["label"].as_str()?.strip_prefix(name)?.strip_prefix(": "))
            .collect()
    }

    /// Labels of the frames of a function, wherever they are.
    pub(crate) fn frames_of(&self, name: &str) -> Vec<&'a str> {
        (1..40).flat_map(|level| self.frames(level, name)).collect()
    }

    /// What one selection of captures shows.
    #[track_caller]
    pub(crate) fn assert_one(&self, sums: &Sums) {
        assert_shows(self.texts("cpu")[0], &[seconds(sums.nanos)]);
        let [slot] = self.texts("slots")[..] else {
            panic!("one selection")
        };
        let samples = slot.rsplit(" · ").next().expect("the samples");
        assert_shows(samples, &[sums.count as f64]);
        let root = &self.frames(1, "everything");
        assert_shows(root[0], &[seconds(sums.nanos), 100.0]);
        assert!(self.assert_rows(sums) > 15);
    }

    /// The table of functions; says how many rows were compared.
    #[track_caller]
    pub(crate) fn assert_rows(&self, sums: &Sums) -> usize {
        let mut compared = 0;
        for row in self.list("rows") {
            let cell = |place: usize| row[place].as_str().expect("a cell");
            // Long generics are left out of some names.
            let Some(&cumulative) = sums.cumulative.get(cell(4)) else {
                continue;
            };
            let own = sums.own.get(cell(4)).copied().unwrap_or(0);
            assert_shows(cell(0), &[seconds(own)]);
            assert_shows(cell(1), &[sums.percent(own)]);
            assert_shows(cell(2), &[seconds(cumulative)]);
            assert_shows(cell(3), &[sums.percent(cumulative)]);
            compared += 1;
        }
        compared
    }

    #[track_caller]
    pub(crate) fn assert_facets(&self, tasks: &Sums, threads: &Sums) {
        for (list, sums, whole) in [
            ("tasks", &tasks.by_task, tasks),
            ("threads", &threads.by_thread, threads),
        ] {
            assert_eq!(self.list(list).len(), sums.len() + 1, "{list}");
            for (name, &nanos) in sums {
                let amount = self.amount(list, name);
                assert_shows(amount, &[seconds(nanos), whole.percent(nanos)]);
            }
            assert_shows(
                self.amount(list, &format!("All {list}")),
                &[seconds(whole.nanos), 100.0],
            );
        }
    }
}
