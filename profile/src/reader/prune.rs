//! Leaves that the writer of a profile wants out of sight.

use crate::profile::Profile;
use crate::view::known;

impl Profile {
    /// The patterns by which the writer of the profile tells which frames are to be
    /// dropped, and which of them are to be kept after all: regular expressions for whole
    /// names.
    #[must_use]
    pub fn drop_patterns(&self) -> Option<(&str, Option<&str>)> {
        let message = self.tables();
        let drop = known(self.text(message.drop_frames))?;
        Some((drop, known(self.text(message.keep_frames))))
    }

    /// Takes frames off the leaves of all stacks: from the outermost one that
    /// `is_dropped` on, where something else has called it.
    ///
    /// Allocators use it to hide their own insides.
    ///
    /// # Panics
    ///
    /// Never: what is left of a coherent profile is coherent.
    #[must_use]
    pub fn pruned(self, mut is_dropped: impl FnMut(&str) -> bool) -> Self {
        let functions: Vec<bool> = self
            .tables()
            .function
            .iter()
            .map(|it| {
                let name = self.text(it.name);
                !name.is_empty() && is_dropped(name)
            })
            .collect();
        // For each location, how many of its lines go; innermost first.
        let dropped: Vec<usize> = self
            .tables()
            .location
            .iter()
            .map(|location| {
                location
                    .line
                    .iter()
                    .rposition(|line| {
                        let place = self.index().functions.place(line.function_id);
                        place.is_some_and(|place| functions[place])
                    })
                    .map_or(0, |place| place + 1)
            })
            .collect();
        let cuts: Vec<usize> = self
            .samples()
            .map(|sample| {
                let places: Vec<usize> = sample.locations().collect();
                let Some(user) = places.iter().rposition(|&place| dropped[place] == 0) else {
                    return 0;
                };
                let Some(hit) = places[..user].iter().rposition(|&it| dropped[it] > 0) else {
                    return 0;
                };
                let place = places[hit];
                let is_whole = dropped[place] == self.tables().location[place].line.len();
                hit + usize::from(is_whole)
            })
            .collect();
        let (mut tables, samples) = self.into_parts();
        for (location, dropped) in tables.location.iter_mut().zip(dropped) {
            // One that goes whole is still the root of what nothing else has called.
            if dropped < location.line.len() {
                location.line.drain(..dropped);
            }
        }
        let samples = samples.selected(|number| Some(cuts[number]));
        Self::from_parts(tables, samples).expect("less of a coherent profile")
    }
}
