//! Labels found in stacks.

use std::collections::HashMap;

use tachograph_core::labels::{self, Label, Marker};

/// The return addresses that marker frames have in stacks.
pub(crate) struct Markers {
    by_return_address: HashMap<u64, Label>,
}

impl Markers {
    /// Calls every marker that is in use, and looks where it calls from.
    pub(crate) fn learn() -> Self {
        let by_return_address = labels::markers()
            .filter_map(|marker| Some((return_address(marker)?, marker.label())))
            .collect();
        Self { by_return_address }
    }

    /// Takes the marker frames out of a stack (leaf first) and returns the
    /// label of the innermost, if there is any.
    pub(crate) fn strip(&self, stack: &mut Vec<u64>) -> Option<Label> {
        let mut innermost = None;
        stack.retain(|address| match self.by_return_address.get(address) {
            None => true,
            Some(label) => {
                innermost = innermost.or(Some(*label));
                false
            }
        });
        innermost
    }
}

fn return_address(marker: Marker) -> Option<u64> {
    let mut found: Option<usize> = None;
    marker.run(&mut || {
        backtrace::trace(|frame| {
            let address = frame.ip() as usize;
            if address >= marker.address() {
                found = Some(found.map_or(address, |found| found.min(address)));
            }
            true
        });
    });
    found.map(|address| address as u64)
}

#[cfg(test)]
mod tests {
    use tachograph_core::Name;

    use super::*;

    #[test]
    fn every_marker_is_found_at_its_own_address() {
        for text in ["one", "two", "three"] {
            Label::intern(&Name::new(text).expect("valid"));
        }
        // Other tests may give out more labels at any moment.
        let in_use: Vec<_> = labels::markers().collect();
        let markers = Markers::learn();
        for marker in in_use {
            let address = return_address(marker).expect("it has a frame");
            assert_eq!(
                markers.by_return_address.get(&address),
                Some(&marker.label())
            );
            let inside = address - marker.address() as u64;
            assert!(inside < 512, "{inside} bytes into a function of a few");
        }
    }

    #[test]
    fn the_innermost_label_counts_and_all_markers_go() {
        let outer = Label::intern(&Name::new("outer").expect("valid"));
        let markers = Markers {
            by_return_address: HashMap::from([(20, Label::NONE), (40, outer)]),
        };
        let mut stack = vec![10, 30, 40, 50];
        assert_eq!(markers.strip(&mut stack), Some(outer));
        assert_eq!(stack, [10, 30, 50]);
        assert_eq!(markers.strip(&mut stack), None);
        // A task without a label, inside of one that has one.
        let mut stack = vec![10, 20, 30, 40, 50];
        assert_eq!(markers.strip(&mut stack), Some(Label::NONE));
        assert_eq!(stack, [10, 30, 50]);
    }
}
