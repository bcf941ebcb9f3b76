//! Counted stacks, in little memory.

use std::collections::HashMap;

use tachograph_core::labels::Label;

use super::modules::Frame;

/// How many different frames with different callers are kept: 3 MiB of them.
const NODES_MAX: usize = 1 << 17;

/// How many different combinations of stack, label and thread are counted.
const COUNTS_MAX: usize = 1 << 16;

/// Nobody's number.
const NONE: u32 = u32::MAX;

/// A frame, below the frame that called it.
#[derive(Debug)]
struct Node {
    frame: Frame,
    caller: u32,
    /// The first of the frames that it called.
    callee: u32,
    /// The next frame of the same caller.
    next: u32,
}

/// A stack with its label and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    leaf: u32,
    label: Label,
    thread_name: [u8; 16],
}

impl Key {
    /// Nothing but a thread.
    pub(crate) fn without_stack(thread_name: [u8; 16]) -> Self {
        Self {
            leaf: NONE,
            label: Label::NONE,
            thread_name,
        }
    }

    pub(crate) fn is_without_stack(&self) -> bool {
        self.leaf == NONE
    }

    pub(crate) fn label(&self) -> Label {
        self.label
    }
}

/// A tree of calls whose paths are stacks. They share what they have in common
/// at the root's side.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The first of the frames that nobody called.
    root: u32,
    counts: HashMap<Key, u64>,
    nodes_max: usize,
    counts_max: usize,
}

/// There is no room for one more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Tree {
    pub(crate) fn new() -> Self {
        Self::with_room(NODES_MAX, COUNTS_MAX)
    }

    fn with_room(nodes_max: usize, counts_max: usize) -> Self {
        Self {
            nodes: Vec::new(),
            root: NONE,
            counts: HashMap::new(),
            nodes_max,
            counts_max,
        }
    }

    /// Counts `weight` samples of a stack, which is leaf first and may be empty.
    pub(crate) fn add(
        &mut self,
        frames: &[Frame],
        label: Label,
        thread_name: [u8; 16],
        weight: u64,
    ) -> Result<Key, Full> {
        let mut leaf = NONE;
        for frame in frames.iter().rev() {
            leaf = self.callee(leaf, *frame)?;
        }
        let key = Key {
            leaf,
            label,
            thread_name,
        };
        self.add_again(key, weight)?;
        Ok(key)
    }

    /// Counts `weight` samples more of what was counted before.
    pub(crate) fn add_again(&mut self, key: Key, weight: u64) -> Result<(), Full> {
        let has_room = self.counts.len() < self.counts_max;
        match self.counts.get_mut(&key) {
            Some(count) => *count += weight,
            None if has_room => {
                self.counts.insert(key, weight);
            }
            None => return Err(Full),
        }
        Ok(())
    }

    /// Calls `each` with every stack that was counted.
    pub(crate) fn each(&self, mut each: impl FnMut(&[Frame], Label, [u8; 16], u64)) {
        let mut frames = Vec::new();
        for (key, count) in &self.counts {
            frames.clear();
            let mut number = key.leaf;
            while let Some(node) = self.nodes.get(number as usize) {
                frames.push(node.frame);
                number = node.caller;
            }
            each(&frames, key.label, key.thread_name, *count);
        }
    }

    /// The number of the node for `frame` as called by `caller`.
    fn callee(&mut self, caller: u32, frame: Frame) -> Result<u32, Full> {
        let first = match self.nodes.get(caller as usize) {
            Some(node) => node.callee,
            None => self.root,
        };
        let mut number = first;
        while let Some(node) = self.nodes.get(number as usize) {
            if node.frame == frame {
                return Ok(number);
            }
            number = node.next;
        }
        if self.nodes.len() >= self.nodes_max {
            return Err(Full);
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(Node {
            frame,
            caller,
            callee: NONE,
            next: first,
        });
        match self.nodes.get_mut(caller as usize) {
            Some(node) => node.callee = number,
            None => self.root = number,
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn frames(text: &str) -> Vec<Frame> {
        text.bytes().rev().map(Frame::for_test).collect()
    }

    fn stacks(tree: &Tree) -> BTreeMap<String, u64> {
        let mut stacks = BTreeMap::new();
        tree.each(|frames, _, _, count| {
            let text = frames.iter().rev().map(|it| it.to_test() as char).collect();
            *stacks.entry(text).or_default() += count;
        });
        stacks
    }

    #[test]
    fn equal_stacks_add_up_and_beginnings_are_shared() {
        let mut tree = Tree::new();
        for text in ["abc", "abd", "ab", "abc", "xbc", ""] {
            tree.add(&frames(text), Label::NONE, [0; 16], 2)
                .expect("room");
        }
        let expected = [("abc", 4), ("abd", 2), ("ab", 2), ("xbc", 2), ("", 2)];
        let expected = expected.map(|(text, count)| (text.to_owned(), count));
        assert_eq!(stacks(&tree), BTreeMap::from(expected));
        // a, b, c, d and x, b, c.
        assert_eq!(tree.nodes.len(), 7);
    }

    #[test]
    fn labels_and_threads_are_counted_apart() {
        let mut tree = Tree::new();
        for (label, name) in [(Label::NONE, 1), (Label::OTHER, 1), (Label::NONE, 2)] {
            tree.add(&frames("ab"), label, [name; 16], 1).expect("room");
        }
        assert_eq!(tree.counts.len(), 3);
    }

    #[test]
    fn the_same_can_be_counted_again() {
        let mut tree = Tree::new();
        let key = tree.add(&frames("ab"), Label::OTHER, [1; 16], 1);
        assert_eq!(tree.add_again(key.expect("room"), 4), Ok(()));
        assert_eq!(stacks(&tree), BTreeMap::from([("ab".to_owned(), 5)]));
    }

    #[test]
    fn a_full_tree_still_counts_what_it_knows() {
        let mut tree = Tree::with_room(3, 2);
        let mut add = |text: &str| {
            let added = tree.add(&frames(text), Label::NONE, [0; 16], 1);
            added.map(|_| ())
        };
        assert_eq!(add("abc"), Ok(()));
        assert_eq!(add("abx"), Err(Full));
        assert_eq!(add("abc"), Ok(()));
        assert_eq!(add("ab"), Ok(()));
        assert_eq!(add("a"), Err(Full));
        assert_eq!(stacks(&tree).values().sum::<u64>(), 3);
    }
}
