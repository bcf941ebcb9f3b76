//! Which samples are looked at.

use std::fmt;

use crate::profile::Profile;
use crate::view::SampleView;

/// Whether a function name, a source file or the path of a mapped file is meant.
pub type Matcher = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Which samples are looked at: those that satisfy all of it.
#[derive(Default)]
pub struct Selection {
    /// Labels that a sample must have: a key and a text.
    pub labels: Vec<(String, String)>,
    /// A sample must have a frame like this.
    pub focus: Option<Matcher>,
    /// A sample must have no frame like this.
    pub ignore: Option<Matcher>,
}

impl Selection {
    /// Looks at the locations of `profile` once, and tells its samples apart.
    pub fn of<'a>(&'a self, profile: &'a Profile) -> impl Fn(&SampleView<'_>) -> bool + use<'a> {
        let focus = self.focus.as_ref().map(|it| locations(profile, it));
        let ignore = self.ignore.as_ref().map(|it| locations(profile, it));
        move |sample| {
            let meets = |places: &[bool]| sample.locations().any(|place| places[place]);
            self.labels
                .iter()
                .all(|(key, text)| sample.label(key) == Some(text))
                && focus.as_deref().is_none_or(meets)
                && !ignore.as_deref().is_some_and(meets)
        }
    }
}

impl Profile {
    /// The profile with none but the samples of `selection`.
    ///
    /// # Panics
    ///
    /// Never: fewer samples are as coherent.
    #[must_use]
    pub fn retained(self, selection: &Selection) -> Self {
        let is_chosen: Vec<bool> = {
            let is_chosen = selection.of(&self);
            self.samples().map(|it| is_chosen(&it)).collect()
        };
        let (tables, samples) = self.into_parts();
        let samples = samples.selected(|number| is_chosen[number].then_some(0));
        Self::from_parts(tables, samples).expect("less of a coherent profile")
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection")
            .field("labels", &self.labels)
            .field("focus", &self.focus.is_some())
            .field("ignore", &self.ignore.is_some())
            .finish()
    }
}

/// For each location, whether it has such a frame.
fn locations(profile: &Profile, matcher: &Matcher) -> Vec<bool> {
    let message = profile.tables();
    let is_meant = |text: i64| text != 0 && matcher(profile.text(text));
    let functions: Vec<bool> = message
        .function
        .iter()
        .map(|it| is_meant(it.name) || is_meant(it.filename))
        .collect();
    let mappings: Vec<bool> = message
        .mapping
        .iter()
        .map(|it| is_meant(it.filename))
        .collect();
    message
        .location
        .iter()
        .map(|location| {
            let mapping = profile.index().mappings.place(location.mapping_id);
            mapping.is_some_and(|place| mappings[place])
                || location.line.iter().any(|line| {
                    let function = profile.index().functions.place(line.function_id);
                    function.is_some_and(|place| functions[place])
                })
        })
        .collect()
}
