//! What handlers may use, and how many may be using it.

use super::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Lends a value to whoever asks, for as long as its owner wants, and tells the
/// owner when it is back.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    /// Null: nothing is lent.
    pub(crate) lent: AtomicPtr<T>,
    /// How many may have seen it and still use it.
    pub(crate) users: AtomicUsize,
}

impl<T> InFlight<T> {
    /// Lends `value`, in place of what was lent before.
    ///
    /// # Safety
    ///
    /// It must stay until [`is_back`](Self::is_back) says so after the next
    /// [`call_back`](Self::call_back), or for good.
    pub(crate) unsafe fn lend(&self, value: *const T) {
        // Release: whoever gets it sees what is in it.
        self.lent.store(value.cast_mut(), Ordering::Release);
    }

    /// Lends nothing any more.
    pub(crate) fn call_back(&self) {
        self.lent.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Whether nobody uses what was lent before it was called back.
    pub(crate) fn is_back(&self) -> bool {
        // It writes, for the sake of order: a user that is counted before is
        // seen here, and one that is counted later sees what this thread did
        // before, which is that nothing is lent. Two mere loads could both
        // miss the other side. Acquire: users that have left are done.
        self.users.fetch_add(0, Ordering::AcqRel) == 0
    }

    /// Uses what is lent, if anything is. For handlers.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&T) -> R) -> Option<R> {
        // Acquire: see above.
        self.users.fetch_add(1, Ordering::AcqRel);
        let lent = self.lent.load(Ordering::Acquire);
        // SAFETY: it is null, or points to what the owner leaves there until
        // this user has left.
        let result = unsafe { lent.as_ref() }.map(work);
        // Release: all uses come before.
        self.users.fetch_sub(1, Ordering::Release);
        result
    }

    /// In a child after a fork: the value is the parent's, and users in other
    /// threads are not here.
    pub(crate) fn forget(&self) {
        self.call_back();
        self.users.store(0, Ordering::Release);
    }
}
