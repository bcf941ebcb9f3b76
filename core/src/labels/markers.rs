//! Labels that can be seen in a stack.
//!
//! A sampler whose signal handler cannot be changed sees nothing but return
//! addresses. For it each label has a function of its own, and every poll of a
//! labelled task runs through the function of its label.

use std::hint::black_box;
use std::ops::Range;
use std::sync::LazyLock;

use super::{LABELS, Label, interner};

type MarkerFn = fn(&mut dyn FnMut());

/// Runs `work` with a frame of its own on the stack.
///
/// Each instance must stay a function of its own: it is never inlined, has
/// something to do after the call (so that the call is no jump), and what it
/// does differs by the constant (so that the linker folds no two of them). The constant is
/// never 0, which has an instruction of its own: all must be equally long.
#[inline(never)]
fn marker<const LABEL: usize>(work: &mut dyn FnMut()) {
    work();
    black_box(LABEL + 1);
}

/// Writes the addresses of `marker::<0>` to `marker::<LABELS - 1>` as an array
/// literal. There is no array of functions generic over a running constant.
macro_rules! markers {
    ($($thirty_two:literal)*) => {{
        let mut table: [MarkerFn; LABELS] = [marker::<0>; LABELS];
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

static MARKERS: [MarkerFn; LABELS] = markers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

const _: () = assert!(LABELS == 32 * 32 + 2);

/// How long the code of a marker is.
///
/// Nothing in Rust tells the size of a function. But all markers are the same
/// code with another constant, and they lie side by side: the smallest distance
/// of two of them is the size of one and what aligns the next.
static CODE_LEN: LazyLock<usize> = LazyLock::new(|| {
    let mut addresses = MARKERS.map(|marker| marker as usize);
    addresses.sort_unstable();
    let distances = addresses.windows(2).map(|two| two[1] - two[0]);
    distances.filter(|it| *it > 0).min().unwrap_or(1)
});

/// Runs `work` labelled `label`, with the marker frame of `label` on the stack.
pub(crate) fn enter_marked<T>(label: Label, work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut result = None;
    super::with(label, || {
        Marker { label }.run(&mut || {
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

/// The marker of one label: for samplers that look for labels in stacks.
///
/// The return address that its frame has in a stack is found by calling it and
/// looking: it is the smallest one at or above [`address`](Self::address),
/// since a marker calls nothing but its work.
///
/// ```
/// use tachograph_core::Name;
/// use tachograph_core::labels::{Label, markers};
///
/// let label = Label::intern(&Name::new("compaction")?);
/// let marker = markers().find(|marker| marker.label() == label).expect("interned");
/// let mut calls = 0;
/// marker.run(&mut || calls += 1);
/// assert_eq!(calls, 1);
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    label: Label,
}

/// The markers of all labels that have been given out so far, [`Label::NONE`]
/// (a task whose name was bad) and [`Label::OTHER`] first.
pub fn markers() -> impl Iterator<Item = Marker> {
    (Label::NONE.0..interner::end()).map(|number| Marker {
        label: Label(number),
    })
}

impl Marker {
    /// The label it marks.
    pub fn label(self) -> Label {
        self.label
    }

    /// Where its function begins.
    pub fn address(self) -> usize {
        self.function() as usize
    }

    /// The code of its function, as far as it is known: from
    /// [`address`](Self::address) on, and never into another function.
    ///
    /// A signal that interrupts a marker itself, before or after its work, finds no
    /// return address of its work, but another address in this range.
    pub fn code(self) -> Range<usize> {
        let address = self.address();
        address..address + *CODE_LEN
    }

    /// Runs `work` with the marker's frame on the stack. The current thread's
    /// label is left as it is.
    pub fn run(self, work: &mut dyn FnMut()) {
        self.function()(work);
    }

    fn function(self) -> MarkerFn {
        MARKERS[usize::from(self.label.0)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::Name;

    #[test]
    fn every_label_has_a_function_of_its_own() {
        let addresses: HashSet<_> = MARKERS.iter().map(|marker| *marker as usize).collect();
        assert_eq!(addresses.len(), LABELS);
    }

    #[test]
    fn marked_work_runs_labelled_and_returns() {
        let label = Label(5);
        assert_eq!(enter_marked(label, super::super::current), label);
        assert_eq!(super::super::current(), Label::NONE);
    }

    #[test]
    fn the_markers_in_use_are_those_of_no_label_of_other_and_of_every_name() {
        for name in ["first", "second", "third"] {
            let name = Name::new(name).expect("valid");
            let label = Label::intern(&name);
            assert!(markers().any(|marker| marker.label() == label));
        }
        // Other tests may give more names meanwhile, but take none back.
        let found: Vec<Marker> = markers().collect();
        assert_eq!(found[0].label(), Label::NONE);
        assert!(found[1..].iter().all(|it| it.label().name().is_some()));
    }

    #[test]
    fn the_code_of_a_marker_is_its_own() {
        let mut all: Vec<_> = MARKERS.iter().map(|marker| *marker as usize).collect();
        all.sort_unstable();
        for marker in markers() {
            let code = marker.code();
            assert_eq!(code.start, marker.address());
            // A call, a store and a return: no fewer bytes on any machine.
            assert!((8..512).contains(&code.len()), "{} bytes", code.len());
            let inside = all.iter().filter(|address| code.contains(address));
            assert_eq!(inside.count(), 1);
        }
        // Were one shorter than the others, the ends of the others would be missing.
        let shortest = all.windows(2).filter(|it| it[1] - it[0] == *CODE_LEN);
        assert!(shortest.count() > LABELS / 2);
    }

    #[test]
    fn a_marker_is_at_the_address_of_the_function_that_it_runs() {
        for marker in markers() {
            let function = MARKERS[usize::from(marker.label().0)];
            assert_eq!(marker.address(), function as usize);
            let mut ran = 0;
            marker.run(&mut || ran += 1);
            assert_eq!(ran, 1);
        }
    }
}
