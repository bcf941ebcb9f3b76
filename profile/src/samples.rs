//! The samples of a profile, side by side.

use crate::proto;

/// All samples in a few lists, rather than three lists for each sample: a profile may
/// have a million of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples {
    /// How many values each has.
    types: usize,
    /// Where the locations of the stacks are in their list, leaf first.
    places: Vec<u32>,
    values: Vec<i64>,
    labels: Vec<proto::Label>,
    /// Where the stack and the labels of each end.
    ends: Vec<End>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    places: usize,
    labels: usize,
}

/// How much room samples need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) samples: usize,
    pub(crate) places: usize,
    pub(crate) values: usize,
    pub(crate) labels: usize,
}

impl Room {
    /// The bytes that so many samples take.
    #[cfg(feature = "reader")]
    pub(crate) fn bytes(self) -> u64 {
        let bytes = |count: usize, size: usize| (count as u64).saturating_mul(size as u64);
        bytes(self.samples, size_of::<End>())
            .saturating_add(bytes(self.places, size_of::<u32>()))
            .saturating_add(bytes(self.values, size_of::<i64>()))
            .saturating_add(bytes(self.labels, size_of::<proto::Label>()))
    }
}

impl Samples {
    /// None yet, of `types` values each.
    pub(crate) fn new(types: usize) -> Self {
        Self::with_room(types, Room::default())
    }

    pub(crate) fn with_room(types: usize, room: Room) -> Self {
        Self {
            types,
            places: Vec::with_capacity(room.places),
            values: Vec::with_capacity(room.values),
            labels: Vec::with_capacity(room.labels),
            ends: Vec::with_capacity(room.samples),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many values each has.
    pub(crate) fn types(&self) -> usize {
        self.types
    }

    /// Puts a location under those of the sample to come.
    pub(crate) fn add_place(&mut self, place: usize) {
        self.places
            .push(u32::try_from(place).expect("under 2^32 locations"));
    }

    pub(crate) fn add_value(&mut self, value: i64) {
        self.values.push(value);
    }

    pub(crate) fn add_label(&mut self, label: proto::Label) {
        self.labels.push(label);
    }

    /// Makes a sample of what was added since the one before it, or fails with the
    /// number of values if it is not one for each type.
    pub(crate) fn end(&mut self) -> Result<(), usize> {
        let values = self.values.len() - self.ends.len() * self.types;
        if values != self.types {
            return Err(values);
        }
        self.ends.push(End {
            places: self.places.len(),
            labels: self.labels.len(),
        });
        Ok(())
    }

    /// Takes back what was added since the last sample.
    #[cfg(feature = "reader")]
    pub(crate) fn take_back(&mut self) {
        let end = self.start(self.len());
        self.places.truncate(end.places);
        self.labels.truncate(end.labels);
        self.values.truncate(self.ends.len() * self.types);
    }

    /// What was added since the last sample: the stack and the labels.
    #[cfg(feature = "reader")]
    pub(crate) fn pending(&self) -> (&[u32], &[proto::Label]) {
        let end = self.start(self.len());
        (&self.places[end.places..], &self.labels[end.labels..])
    }

    /// Where the locations of the stack of a sample are in their list, leaf first.
    pub(crate) fn places(&self, number: usize) -> &[u32] {
        &self.places[self.start(number).places..self.ends[number].places]
    }

    pub(crate) fn labels(&self, number: usize) -> &[proto::Label] {
        &self.labels[self.start(number).labels..self.ends[number].labels]
    }

    pub(crate) fn values(&self, number: usize) -> &[i64] {
        &self.values[number * self.types..][..self.types]
    }

    /// What tells a sample from others: its stack and its labels.
    #[cfg(feature = "reader")]
    pub(crate) fn key(&self, number: usize) -> (&[u32], &[proto::Label]) {
        (self.places(number), self.labels(number))
    }

    #[cfg(feature = "reader")]
    pub(crate) fn values_mut(&mut self, number: usize) -> &mut [i64] {
        &mut self.values[number * self.types..][..self.types]
    }

    /// The stacks of all of them, one after the other.
    #[cfg(feature = "reader")]
    pub(crate) fn all_places(&self) -> &[u32] {
        &self.places
    }

    /// Those that are chosen by their numbers, each without so many locations at its
    /// leaf.
    #[cfg(feature = "reader")]
    pub(crate) fn selected(&self, mut cut: impl FnMut(usize) -> Option<usize>) -> Self {
        let mut selected = Self::new(self.types);
        for number in 0..self.len() {
            if let Some(cut) = cut(number) {
                selected.places.extend(&self.places(number)[cut..]);
                selected.values.extend(self.values(number));
                selected.labels.extend(self.labels(number));
                selected.end().expect("as many values as there are types");
            }
        }
        selected
    }

    /// Where a sample begins, or the one to come.
    fn start(&self, number: usize) -> End {
        match number {
            0 => End::default(),
            number => self.ends[number - 1],
        }
    }

    /// A sample as the format has it; `id_at` knows the id of the location at a place.
    pub(crate) fn message(&self, number: usize, id_at: impl Fn(usize) -> u64) -> proto::Sample {
        let places = self.places(number).iter();
        proto::Sample {
            location_id: places.map(|&place| id_at(place as usize)).collect(),
            value: self.values(number).to_vec(),
            label: self.labels(number).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(key: i64) -> proto::Label {
        proto::Label {
            key,
            ..Default::default()
        }
    }

    /// Three samples of two values; the second has neither stack nor labels.
    fn three() -> Samples {
        let mut samples = Samples::new(2);
        for (places, values, labels) in [
            (&[4, 5, 6][..], [1, 10], &[7][..]),
            (&[], [2, 20], &[]),
            (&[6], [3, 30], &[8, 9]),
        ] {
            places.iter().for_each(|&it| samples.add_place(it));
            values.iter().for_each(|&it| samples.add_value(it));
            labels.iter().for_each(|&it| samples.add_label(label(it)));
            samples.end().expect("two values");
        }
        samples
    }

    #[test]
    fn each_sample_has_what_was_added_for_it() {
        let samples = three();
        assert_eq!(samples.len(), 3);
        assert_eq!(samples.places(0), [4, 5, 6]);
        assert_eq!(samples.places(1), []);
        assert_eq!(samples.places(2), [6]);
        assert_eq!(samples.values(1), [2, 20]);
        assert_eq!(samples.labels(0), [label(7)]);
        assert_eq!(samples.labels(1), []);
        assert_eq!(samples.labels(2), [label(8), label(9)]);
        assert_eq!(
            samples.message(2, |place| place as u64 * 100),
            proto::Sample {
                location_id: vec![600],
                value: vec![3, 30],
                label: vec![label(8), label(9)],
            }
        );
    }

    #[cfg(feature = "reader")]
    #[test]
    fn a_sample_with_other_than_one_value_for_each_type_is_none() {
        let mut samples = three();
        samples.add_place(1);
        samples.add_label(label(1));
        samples.add_value(1);
        assert_eq!(samples.end(), Err(1));
        samples.add_value(2);
        samples.add_value(3);
        assert_eq!(samples.end(), Err(3));
        samples.take_back();
        assert_eq!(samples, three());
    }

    #[cfg(feature = "reader")]
    #[test]
    fn samples_are_chosen_and_cut_at_the_leaf() {
        let selected = three().selected(|number| [Some(1), None, Some(0)][number]);
        assert_eq!(selected.len(), 2);
        assert_eq!(selected.places(0), [5, 6]);
        assert_eq!(selected.places(1), [6]);
        assert_eq!(selected.values(1), [3, 30]);
        assert_eq!(selected.labels(1), [label(8), label(9)]);
    }
}
