//! The label of the current thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use super::Label;

thread_local! {
    /// Initialised by a constant and without a destructor, so that reading it
    /// runs no code of ours at any moment of a thread's life.
    static CURRENT: ThreadLabel = const { ThreadLabel::new() };
}

/// Called by each thread that has a label for the first time.
static OBSERVER: OnceLock<fn(&ThreadLabel)> = OnceLock::new();

/// Where a thread keeps its label: at one address for the whole of its life.
///
/// It is atomic so that a signal handler may read it between any two
/// instructions of the thread.
#[derive(Debug)]
pub struct ThreadLabel {
    label: AtomicU16,
    observed: AtomicBool,
}

impl ThreadLabel {
    const fn new() -> Self {
        Self {
            label: AtomicU16::new(Label::NONE.0),
            observed: AtomicBool::new(false),
        }
    }

    /// The label of the code that runs on that thread.
    #[inline]
    pub fn get(&self) -> Label {
        Label(self.label.load(Ordering::Relaxed))
    }

    #[inline]
    fn set(&self, label: Label) {
        self.label.store(label.0, Ordering::Relaxed);
    }

    #[inline]
    fn meet_observer(&self) {
        if !self.observed.load(Ordering::Relaxed) {
            self.call_observer();
        }
    }

    #[cold]
    fn call_observer(&self) {
        if let Some(observer) = OBSERVER.get() {
            // Before the call, which may itself run labelled work.
            self.observed.store(true, Ordering::Relaxed);
            observer(self);
        }
    }
}

/// Has `observer` called once by each thread, before that thread's next label
/// takes effect.
///
/// For a sampler that reads the label in a signal handler. There it cannot ask
/// [`current`] if this code may live in a loaded library, since the first
/// access of a thread to its thread-locals can allocate; an address that the
/// thread itself handed over can be read. The address is valid until the
/// thread ends, and the sampler must forget it before that.
///
/// There is one observer in a process: false if it is another one already.
pub fn observe(observer: fn(&ThreadLabel)) -> bool {
    *OBSERVER.get_or_init(|| observer) as usize == observer as usize
}

/// Lets the current thread meet the observer now, if it has not yet.
pub fn introduce() {
    CURRENT.with(ThreadLabel::meet_observer);
}

/// The label of the code that runs on this thread.
#[inline]
pub fn current() -> Label {
    CURRENT.with(ThreadLabel::get)
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
    struct Restore<'a>(&'a ThreadLabel, Label);

    impl Drop for Restore<'_> {
        #[inline]
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }

    CURRENT.with(|place| {
        place.meet_observer();
        let _restore = Restore(place, place.get());
        place.set(label);
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::catch_unwind;
    use std::thread;

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

    thread_local! {
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    fn count_calls(place: &ThreadLabel) {
        assert_eq!(place.get(), Label::NONE);
        CALLS.set(CALLS.get() + 1);
        with(Label(9), || assert_eq!(place.get(), Label(9)));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test of threads")]
    fn each_thread_meets_the_one_observer_once() {
        assert!(observe(count_calls));
        assert!(observe(count_calls));
        assert!(!observe(|place| assert_eq!(place.get(), Label::NONE)));
        for introduced in [false, true] {
            let thread = thread::Builder::new().spawn(move || {
                if introduced {
                    introduce();
                    assert_eq!(CALLS.get(), 1);
                }
                with(Label(3), || with(Label(4), || {}));
                introduce();
                assert_eq!(CALLS.get(), 1);
            });
            thread.expect("a thread").join().expect("it met");
        }
    }
}
