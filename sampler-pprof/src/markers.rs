//! Labels found in stacks.

use std::collections::{BTreeMap, HashMap};

use tachograph_core::labels::{self, Label, Marker};

/// The addresses that marker frames have in stacks.
pub(crate) struct Markers {
    by_return_address: HashMap<u64, Label>,
    /// Where the code of a marker begins and ends: what a signal interrupts is
    /// at times the marker itself, on its way to its work or back, or something else
    /// that it calls.
    by_code: BTreeMap<u64, (u64, Label)>,
}

impl Markers {
    /// Calls every marker that is in use, and looks where it calls from.
    pub(crate) fn learn() -> Self {
        let by_return_address = labels::markers()
            .filter_map(|marker| Some((return_address(marker)?, marker.label())))
            .collect();
        let by_code = labels::markers()
            .map(|marker| {
                let code = marker.code();
                (code.start as u64, (code.end as u64, marker.label()))
            })
            .collect();
        Self {
            by_return_address,
            by_code,
        }
    }

    /// Takes the marker frames out of a stack (leaf first) and returns the
    /// label of the innermost, if there is any.
    pub(crate) fn strip(&self, stack: &mut Vec<u64>) -> Option<Label> {
        let mut innermost = None;
        let mut is_leaf = true;
        stack.retain(|address| {
            // Before a first instruction, only a leaf can be: a caller that goes there ends
            // in a call that does not return.
            let inside = if is_leaf {
                *address
            } else {
                address.saturating_sub(1)
            };
            is_leaf = false;
            let label = self.by_return_address.get(address).copied();
            let label = label.or_else(|| self.around(inside));
            innermost = innermost.or(label);
            label.is_none()
        });
        innermost
    }

    /// The label of the marker that this instruction is part of.
    fn around(&self, address: u64) -> Option<Label> {
        let (_, (end, label)) = self.by_code.range(..=address).next_back()?;
        (address < *end).then_some(*label)
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
            by_code: BTreeMap::new(),
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

    #[test]
    fn a_marker_that_was_interrupted_itself_is_one_too() {
        let inner = Label::intern(&Name::new("inner").expect("valid"));
        let outer = Label::intern(&Name::new("outer").expect("valid"));
        let markers = Markers {
            by_return_address: HashMap::from([(106, inner), (124, outer)]),
            by_code: BTreeMap::from([(100, (116, inner)), (116, (132, outer))]),
        };
        for leaf in 100..116 {
            let mut stack = vec![leaf, 50, 124, 60];
            assert_eq!(markers.strip(&mut stack), Some(inner), "{leaf}");
            assert_eq!(stack, [50, 60]);
        }
        for leaf in [99, 132] {
            let mut stack = vec![leaf, 50, 124, 60];
            assert_eq!(markers.strip(&mut stack), Some(outer), "{leaf}");
            assert_eq!(stack, [leaf, 50, 60]);
        }
        // It called something other than its work, and 100 returns from elsewhere.
        let mut stack = vec![50, 100, 112, 132, 60];
        assert_eq!(markers.strip(&mut stack), Some(inner));
        assert_eq!(stack, [50, 100, 60]);
        // Those of this process, of which other tests may make more.
        let in_use: Vec<_> = labels::markers().collect();
        let markers = Markers::learn();
        for marker in in_use {
            let mut stack = vec![marker.address() as u64];
            assert_eq!(markers.strip(&mut stack), Some(marker.label()));
            assert!(stack.is_empty());
        }
    }
}
