//! What each function used, by itself and with what it called.

use super::frames::FrameSet;

/// Own and cumulative sums by frame.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// By the number of the frame: a set gives them out without gaps.
    sums: Vec<Sums>,
    stacks: u64,
    total: i64,
    magnitude: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    own: i64,
    cumulative: i64,
    /// The latest stack that this frame was counted for: in one with recursion it is
    /// met again.
    counted: u64,
}

/// One frame and its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the frame in its [`FrameSet`].
    pub frame: u32,
    /// What was counted while this frame was the leaf.
    pub own: i64,
    /// What was counted while this frame was on the stack, once for each stack.
    pub cumulative: i64,
}

impl Table {
    /// Adds a stack, leaf first, of frames with the numbers that a [`FrameSet`] gave
    /// them. One that weighs nothing leaves no trace.
    pub fn add(&mut self, stack: impl Iterator<Item = u32>, value: i64) {
        if value == 0 {
            return;
        }
        self.total = self.total.saturating_add(value);
        self.magnitude = self.magnitude.saturating_add(value.saturating_abs());
        self.stacks += 1;
        for (depth, frame) in stack.enumerate() {
            let place = frame as usize;
            if place >= self.sums.len() {
                self.sums.resize(place + 1, Sums::default());
            }
            let sums = &mut self.sums[place];
            if depth == 0 {
                sums.own = sums.own.saturating_add(value);
            }
            if sums.counted != self.stacks {
                sums.counted = self.stacks;
                sums.cumulative = sums.cumulative.saturating_add(value);
            }
        }
    }

    /// The sum of all values, those of empty stacks included.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The sum of all values regardless of their signs, which shares are of.
    #[must_use]
    pub fn magnitude(&self) -> i64 {
        self.magnitude
    }

    /// All frames that anything was counted for, the largest own sum first, then the
    /// largest cumulative one, then by name.
    #[must_use]
    pub fn rows(&self, frames: &FrameSet) -> Vec<Row> {
        let mut rows: Vec<Row> = (0..)
            .zip(&self.sums)
            .map(|(frame, sums)| Row {
                frame,
                own: sums.own,
                cumulative: sums.cumulative,
            })
            .filter(|row| row.own != 0 || row.cumulative != 0)
            .collect();
        rows.sort_unstable_by(|a, b| {
            let size = |row: &Row| (row.own.unsigned_abs(), row.cumulative.unsigned_abs());
            size(b)
                .cmp(&size(a))
                .then_with(|| frames.get(a.frame).cmp(frames.get(b.frame)))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{Frame, Granularity};
    use super::*;

    fn table(stacks: &[(&[&str], i64)]) -> (i64, Vec<(String, i64, i64)>) {
        let mut frames = FrameSet::new(Granularity::Functions);
        let mut table = Table::default();
        for (stack, value) in stacks {
            let numbers: Vec<u32> = stack
                .iter()
                .map(|&name| {
                    frames.number(&Frame {
                        name: name.into(),
                        file: "".into(),
                        line: 0,
                        module: "".into(),
                    })
                })
                .collect();
            table.add(numbers.into_iter(), *value);
        }
        let rows = table.rows(&frames).into_iter();
        let rows = rows.map(|it| (frames.get(it.frame).name.to_string(), it.own, it.cumulative));
        (table.total(), rows.collect())
    }

    fn row(name: &str, own: i64, cumulative: i64) -> (String, i64, i64) {
        (name.to_owned(), own, cumulative)
    }

    #[test]
    fn recursion_counts_once_for_each_stack() {
        assert_eq!(
            table(&[(&["f", "f", "main"], 3), (&["g", "f", "f", "main"], 2)]),
            (5, vec![row("f", 3, 5), row("g", 2, 2), row("main", 0, 5)])
        );
    }

    #[test]
    fn what_weighs_nothing_or_cancels_out_is_left_out() {
        assert_eq!(
            table(&[(&["f"], 0), (&["g"], 2), (&["g"], -2), (&[], 7)]),
            (7, vec![])
        );
    }

    #[test]
    fn sums_are_saturated() {
        assert_eq!(
            table(&[(&["f"], i64::MAX), (&["f"], 1)]),
            (i64::MAX, vec![row("f", i64::MAX, i64::MAX)])
        );
    }
}
