//! Who called whom, and what it took.

use hashbrown::HashMap;

use crate::error::{Error, ErrorKind, Result};

/// More nodes than these are not made: 1.5 GiB of them.
const NODES_MAX: usize = 1 << 24;

/// The place of a node in its [`CallTree`].
pub type NodeId = u32;

/// Stacks with their common roots shared. Each node has `N` sums: one for a tree of what
/// was measured, two for a comparison.
///
/// ```
/// use tachograph_profile::reader::CallTree;
///
/// let mut tree = CallTree::<1>::default();
/// let (main, f, g) = (0, 1, 2);
/// tree.add([main, f].into_iter(), 0, 3)?;
/// tree.add([main, f, g].into_iter(), 0, 4)?;
/// let main = tree.children(CallTree::<1>::ROOT)[0];
/// let f = tree.children(main)[0];
/// assert_eq!((tree.own(f), tree.total(f)), ([3], [7]));
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallTree<const N: usize> {
    nodes: Vec<Node<N>>,
    children: HashMap<(NodeId, u32), NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Node<const N: usize> {
    frame: u32,
    own: [i64; N],
    total: [i64; N],
    first_child: NodeId,
    next_sibling: NodeId,
}

/// The root is nobody's child and nobody's sibling.
const NONE: NodeId = 0;

impl<const N: usize> Default for CallTree<N> {
    fn default() -> Self {
        Self {
            nodes: vec![Node::new(u32::MAX)],
            children: HashMap::new(),
        }
    }
}

impl<const N: usize> Node<N> {
    fn new(frame: u32) -> Self {
        Self {
            frame,
            own: [0; N],
            total: [0; N],
            first_child: NONE,
            next_sibling: NONE,
        }
    }
}

impl<const N: usize> CallTree<N> {
    /// The node above all stacks. It has no frame; its total is that of everything.
    pub const ROOT: NodeId = 0;

    /// Adds `value` to sum number `which` of a stack, root first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if there are more than 2²⁴ different beginnings of
    /// stacks.
    ///
    /// # Panics
    ///
    /// If `which` is not under `N`.
    pub fn add(
        &mut self,
        stack: impl Iterator<Item = u32>,
        which: usize,
        value: i64,
    ) -> Result<()> {
        if value == 0 {
            return Ok(());
        }
        let mut at = Self::ROOT;
        self.count(at, which, value);
        for frame in stack {
            at = self.child(at, frame)?;
            self.count(at, which, value);
        }
        let own = &mut self.nodes[at as usize].own[which];
        *own = own.saturating_add(value);
        Ok(())
    }

    fn count(&mut self, node: NodeId, which: usize, value: i64) {
        let total = &mut self.nodes[node as usize].total[which];
        *total = total.saturating_add(value);
    }

    fn child(&mut self, parent: NodeId, frame: u32) -> Result<NodeId> {
        if let Some(&child) = self.children.get(&(parent, frame)) {
            return Ok(child);
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the stacks have more than {NODES_MAX} different beginnings; \
                     look at fewer samples"
                ),
            ));
        }
        let child = self.nodes.len() as NodeId;
        let mut node = Node::new(frame);
        let parent_node = &mut self.nodes[parent as usize];
        node.next_sibling = parent_node.first_child;
        parent_node.first_child = child;
        self.nodes.push(node);
        self.children.insert((parent, frame), child);
        Ok(child)
    }

    /// The number of the node's frame.
    #[must_use]
    pub fn frame(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].frame
    }

    /// What was counted for stacks that end here.
    #[must_use]
    pub fn own(&self, node: NodeId) -> [i64; N] {
        self.nodes[node as usize].own
    }

    /// What was counted for stacks that end here or go on from here.
    #[must_use]
    pub fn total(&self, node: NodeId) -> [i64; N] {
        self.nodes[node as usize].total
    }

    /// The nodes below, the largest total first (the largest of them, of several), then
    /// in the order of frames.
    #[must_use]
    pub fn children(&self, node: NodeId) -> Vec<NodeId> {
        let mut children = Vec::new();
        let mut next = self.nodes[node as usize].first_child;
        while next != NONE {
            children.push(next);
            next = self.nodes[next as usize].next_sibling;
        }
        children.sort_by_key(|&child| {
            let node = &self.nodes[child as usize];
            (std::cmp::Reverse(self.size(child)), node.frame)
        });
        children
    }

    /// The largest of a node's totals, regardless of signs.
    #[must_use]
    pub fn size(&self, node: NodeId) -> u64 {
        let totals = self.nodes[node as usize].total.iter();
        totals.map(|it| it.unsigned_abs()).max().unwrap_or(0)
    }

    /// The stacks, root first, each with what ends there. Where a branch is smaller
    /// than `least`, it is not followed, and counts where it leaves.
    pub fn stacks(&self, least: u64, mut each: impl FnMut(&[u32], [i64; N])) {
        let mut stack = Vec::new();
        // What is left to visit: a node and its depth.
        let mut pending = vec![(Self::ROOT, 0)];
        while let Some((node, depth)) = pending.pop() {
            stack.truncate(depth);
            if node != Self::ROOT {
                stack.push(self.frame(node));
            }
            let mut ends_here = self.own(node);
            for child in self.children(node).into_iter().rev() {
                if self.size(child) >= least {
                    pending.push((child, stack.len()));
                } else {
                    for (sum, it) in ends_here.iter_mut().zip(self.total(child)) {
                        *sum = sum.saturating_add(it);
                    }
                }
            }
            if ends_here != [0; N] {
                each(&stack, ends_here);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> CallTree<1> {
        let mut tree = CallTree::default();
        for (stack, value) in [
            (&[0, 1][..], 60),
            (&[0, 1, 2], 30),
            (&[0, 3, 2], 6),
            (&[0, 3], 3),
            (&[], 1),
            (&[9], 0),
        ] {
            tree.add(stack.iter().copied(), 0, value).expect("small");
        }
        tree
    }

    fn stacks(least: u64) -> Vec<(Vec<u32>, i64)> {
        let mut all = Vec::new();
        tree().stacks(least, |stack, [value]| all.push((stack.to_vec(), value)));
        all
    }

    #[test]
    fn stacks_come_back_as_they_went_in() {
        assert_eq!(
            stacks(0),
            [
                (vec![], 1),
                (vec![0, 1], 60),
                (vec![0, 1, 2], 30),
                (vec![0, 3], 3),
                (vec![0, 3, 2], 6),
            ]
        );
    }

    #[test]
    fn small_branches_count_where_they_leave() {
        assert_eq!(
            stacks(10),
            [
                (vec![], 1),
                (vec![0], 9),
                (vec![0, 1], 60),
                (vec![0, 1, 2], 30)
            ]
        );
        assert_eq!(stacks(1_000), [(vec![], 100)]);
    }

    #[test]
    fn two_sums_stay_apart() {
        let mut tree = CallTree::<2>::default();
        tree.add([1, 2].into_iter(), 0, 5).expect("small");
        tree.add([1].into_iter(), 1, 7).expect("small");
        let one = tree.children(CallTree::<2>::ROOT)[0];
        assert_eq!((tree.own(one), tree.total(one)), ([0, 7], [5, 7]));
        assert_eq!(tree.size(one), 7);
    }
}
