//! Labels that were asked for by name: a mistyped one must not look like one that used
//! nothing.

use std::collections::BTreeSet;

use tachograph_profile::Profile;

use crate::args::Looking;
use crate::output::Output;

/// So many are listed for whom what was asked for is not there.
const LISTED_MAX: usize = 20;

/// What was asked for, and what there is.
pub(crate) struct Asked<'a> {
    texts: Vec<AskedText<'a>>,
    by: Option<&'a str>,
    keys: BTreeSet<String>,
}

/// A label that samples must have.
struct AskedText<'a> {
    key: &'static str,
    text: &'a str,
    known: BTreeSet<String>,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(looking: &'a Looking, by: Option<&'a str>) -> Self {
        let asked = |key, text: &'a Option<String>| {
            let known = BTreeSet::new();
            text.as_deref().map(|text| AskedText { key, text, known })
        };
        let texts = [
            asked("task", &looking.task),
            asked("thread", &looking.thread),
        ];
        Self {
            texts: texts.into_iter().flatten().collect(),
            by,
            keys: BTreeSet::new(),
        }
    }

    pub(crate) fn look_at(&mut self, profile: &Profile) {
        for asked in &mut self.texts {
            for text in profile.label_texts(asked.key) {
                if !asked.known.contains(text) {
                    asked.known.insert(text.to_owned());
                }
            }
        }
        if self.by.is_some() {
            let keys = profile.label_keys();
            self.keys.extend(keys.into_iter().map(str::to_owned));
        }
    }

    /// Complains about what was asked for and is not there.
    pub(crate) fn complain(&self, output: &mut Output) {
        for missing in self.missing() {
            output.complain(missing);
        }
    }

    fn missing(&self) -> Vec<String> {
        let texts = self.texts.iter().filter(|it| !it.known.contains(it.text));
        let texts = texts.map(|it| {
            let AskedText { key, text, known } = it;
            format!("no sample has the {key} {text}; there is {}", listed(known))
        });
        let by = self.by.filter(|&key| !self.keys.contains(key));
        let by = by.map(|key| {
            let known = listed(&self.keys);
            format!("no sample has a label {key}; there is {known}")
        });
        texts.chain(by).collect()
    }
}

fn listed(known: &BTreeSet<String>) -> String {
    if known.is_empty() {
        return "none at all".to_owned();
    }
    let shown: Vec<&str> = known.iter().take(LISTED_MAX).map(String::as_str).collect();
    let more = match known.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
