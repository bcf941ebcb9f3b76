//! Labels that can be seen in a stack.
//!
//! A sampler whose signal handler cannot be changed sees nothing but return
//! addresses. For it each label has a function of its own, and every poll of a
//! labelled task runs through the function of its label.

use std::collections::HashMap;
use std::hint::black_box;

use super::{LABELS, Label};

type Marker = fn(&mut dyn FnMut());

/// Runs `work` with a frame of its own on the stack.
///
/// Each instance must stay a function of its own: it is never inlined, has
/// something to do after the call (so that the call is no jump), and what it
/// does differs by the constant (so that the linker folds no two of them).
#[inline(never)]
fn marker<const LABEL: usize>(work: &mut dyn FnMut()) {
    work();
    black_box(LABEL);
}

/// Writes the addresses of `marker::<0>` to `marker::<LABELS - 1>` as an array
/// literal. There is no array of functions generic over a running constant.
macro_rules! markers {
    ($($thirty_two:literal)*) => {{
        let mut table: [Marker; LABELS] = [marker::<0>; LABELS];
        $(markers!(@ table, $thirty_two * 32;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);)*
        table[LABELS - 2] = marker::<{ LABELS - 2 }>;
        table[LABELS - 1] = marker::<{ LABELS - 1 }>;
        table
    }};
    (@ $table:ident, $base:expr; $($offset:literal)*) => {
        $($table[$base + $offset] = marker::<{ $base + $offset }>;)*
    };
}

static MARKERS: [Marker; LABELS] = markers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

const _: () = assert!(LABELS == 32 * 32 + 2);

/// Runs `work` labelled `label`, with the marker frame of `label` on the stack.
pub(crate) fn enter_marked<T>(label: Label, work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut result = None;
    super::with(label, || {
        MARKERS[usize::from(label.0)](&mut || {
            if let Some(work) = work.take() {
                result = Some(work());
            }
        });
    });
    match result {
        Some(result) => result,
        None => unreachable!("a marker runs its work"),
    }
}

/// The marker functions of this process, by address: for samplers that look
/// for a label in a stack.
///
/// ```
/// use tachograph_core::labels::Markers;
///
/// let markers = Markers::new();
/// assert_eq!(markers.label_of_function(0), None);
/// ```
#[derive(Debug)]
pub struct Markers {
    labels: HashMap<usize, Label>,
}

impl Markers {
    /// Looks the functions up.
    pub fn new() -> Self {
        let labels = MARKERS
            .iter()
            .enumerate()
            .map(|(number, marker)| (*marker as usize, Label(number as u16)))
            .collect();
        Self { labels }
    }

    /// The label whose marker function starts at `address`.
    pub fn label_of_function(&self, address: usize) -> Option<Label> {
        self.labels.get(&address).copied()
    }
}

impl Default for Markers {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_has_a_function_of_its_own() {
        let markers = Markers::new();
        assert_eq!(markers.labels.len(), LABELS);
        for (number, marker) in MARKERS.iter().enumerate() {
            assert_eq!(
                markers.label_of_function(*marker as usize),
                Some(Label(number as u16))
            );
        }
    }

    #[test]
    fn marked_work_runs_labelled_and_returns() {
        let label = Label(5);
        assert_eq!(enter_marked(label, super::super::current), label);
        assert_eq!(super::super::current(), Label::NONE);
    }
}
