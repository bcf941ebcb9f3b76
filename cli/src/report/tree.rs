//! The stacks of all captures as one tree.

use hashbrown::HashMap;
use serde::Serialize;

/// Stacks by number. Stack 0 is the empty one, the root; any other extends one with a
/// smaller number by a function.
#[derive(Debug, Serialize)]
pub(super) struct StackTree {
    /// By how much the number of the stack it extends is smaller; 0 for the root.
    up: Vec<u32>,
    /// The function that it ends with, the one called last.
    function: Vec<u32>,
    #[serde(skip)]
    numbers: HashMap<(u32, u32), u32>,
}

impl StackTree {
    pub(super) fn new() -> Self {
        Self {
            up: vec![0],
            function: vec![0],
            numbers: HashMap::default(),
        }
    }

    /// The number of a stack of functions, the outermost caller first.
    pub(super) fn number(&mut self, functions: impl Iterator<Item = u32>) -> u32 {
        functions.fold(0, |stack, function| {
            let next = u32::try_from(self.up.len()).expect("under 2^32 different stacks");
            let number = *self.numbers.entry((stack, function)).or_insert(next);
            if number == next {
                self.up.push(number - stack);
                self.function.push(function);
            }
            number
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_beginnings() {
        let mut tree = StackTree::new();
        assert_eq!(tree.number([].into_iter()), 0);
        assert_eq!(tree.number([7, 8].into_iter()), 2);
        assert_eq!(tree.number([7].into_iter()), 1);
        assert_eq!(tree.number([7, 9].into_iter()), 3);
        assert_eq!(tree.number([8, 7].into_iter()), 5);
        assert_eq!(tree.number([7, 8].into_iter()), 2);
        assert_eq!(tree.up, [0, 1, 1, 2, 4, 1]);
        assert_eq!(tree.function, [0, 7, 8, 9, 8, 7]);
    }
}
