//! The label of the current thread.

use std::cell::Cell;

use super::Label;

thread_local! {
    /// Initialised by a constant and without a destructor, so that a signal
    /// handler may read it at any moment of a thread's life.
    static CURRENT: Cell<u16> = const { Cell::new(Label::NONE.0) };
}

/// The label of the code that runs on this thread.
#[inline]
pub fn current() -> Label {
    Label(CURRENT.get())
}

/// Runs `work` with the current thread labelled `label`. The previous label is
/// back afterwards, also when `work` panics.
///
/// ```
/// use tachograph_core::Name;
/// use tachograph_core::labels::{self, Label};
///
/// let label = Label::intern(&Name::new("compaction")?);
/// assert_eq!(labels::with(label, labels::current), label);
/// assert_eq!(labels::current(), Label::NONE);
/// # Ok::<(), tachograph_core::Error>(())
/// ```
#[inline]
pub fn with<T>(label: Label, work: impl FnOnce() -> T) -> T {
    struct Restore(u16);

    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }

    let _restore = Restore(CURRENT.replace(label.0));
    work()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn nested_labels_restore_the_outer_one_also_on_panic() {
        let (outer, inner) = (Label(7), Label(8));
        with(outer, || {
            with(inner, || assert_eq!(current(), inner));
            assert_eq!(current(), outer);
            let panicked = catch_unwind(|| with(inner, || panic!("expected")));
            assert!(panicked.is_err());
            assert_eq!(current(), outer);
        });
        assert_eq!(current(), Label::NONE);
    }
}
