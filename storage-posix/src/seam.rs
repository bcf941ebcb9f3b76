//! Where a test can stand between the store and the system: it sees each call
//! before it is made and after, and can fail it, shorten it or end the process
//! there.
//!
//! Without the feature `testing` nobody can, and a call is nothing but the call.

use std::os::fd::BorrowedFd;
use std::path::Path;

/// What the store asks of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Open a directory.
    OpenDirectory,
    /// Make a directory.
    MakeDirectory,
    /// Set the mode of an entry.
    SetModeOfEntry,
    /// Look at an entry.
    StatEntry,
    /// Look at what is open.
    Stat,
    /// Create a file.
    Create,
    /// Set the mode of a file.
    SetMode,
    /// Open a file to write.
    OpenToWrite,
    /// Write to a file.
    Write,
    /// Take the content from a file.
    Truncate,
    /// Sync a file or a directory.
    Sync,
    /// Begin to list a directory.
    List,
    /// Take the next entry of a listing.
    NextEntry,
    /// Remove a file.
    Remove,
    /// Remove a directory.
    RemoveDirectory,
    /// Rename a file.
    Rename,
    /// Give a file a second name.
    Link,
    /// Ask for the free space.
    FreeSpace,
    /// Lock a directory.
    Lock,
    /// Unlock a directory.
    Unlock,
}

/// One call to the system.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is asked.
    pub operation: Operation,
    /// What it is asked of: the directory of the names, if there are any, else
    /// the file itself.
    pub descriptor: BorrowedFd<'a>,
    /// The entry it is about, relative to the directory.
    pub name: Option<&'a Path>,
    /// The new name of that entry.
    pub new_name: Option<&'a Path>,
    /// What is written.
    pub bytes: &'a [u8],
}

impl<'a> Call<'a> {
    /// A call about what is open.
    pub(crate) fn on(operation: Operation, descriptor: BorrowedFd<'a>) -> Self {
        Self {
            operation,
            descriptor,
            name: None,
            new_name: None,
            bytes: &[],
        }
    }

    /// A call about an entry of an open directory.
    pub(crate) fn at(operation: Operation, directory: BorrowedFd<'a>, name: &'a Path) -> Self {
        Self {
            name: Some(name),
            ..Self::on(operation, directory)
        }
    }

    /// The same call, giving a new name.
    pub(crate) fn to(self, new_name: &'a Path) -> Self {
        Self {
            new_name: Some(new_name),
            ..self
        }
    }

    /// The same call, writing `bytes`.
    pub(crate) fn writing(self, bytes: &'a [u8]) -> Self {
        Self { bytes, ..self }
    }
}

/// Makes a call, past whoever stands there.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(crate) fn pass<T>(
    call: Call<'_>,
    make: impl FnOnce(&Call<'_>) -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    make(&call)
}

#[cfg(feature = "testing")]
pub(crate) use hooked::pass;
#[cfg(feature = "testing")]
pub use hooked::{Hook, Installed, install};

#[cfg(feature = "testing")]
mod hooked {
    use std::cell::RefCell;
    use std::fmt;
    use std::io;
    use std::marker::PhantomData;
    use std::sync::Arc;

    use rustix::io::{Errno, Result};

    use super::Call;

    /// Who stands between the store and the system.
    pub trait Hook: Send + Sync {
        /// Looks at a call that is about to be made. It may shorten what is
        /// written.
        ///
        /// # Errors
        ///
        /// An error of the system is the answer in the call's place.
        fn before(&self, call: &mut Call<'_>) -> io::Result<()>;

        /// Looks at a call that was made, and at what came of it.
        ///
        /// # Errors
        ///
        /// An error of the system takes the place of a success.
        fn after(&self, call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()>;
    }

    thread_local! {
        static HOOK: RefCell<Option<Arc<dyn Hook>>> = const { RefCell::new(None) };
    }

    /// Lets `hook` see the calls of this thread, and of no other, until the
    /// returned value is dropped.
    #[must_use = "the hook is taken away when this is dropped"]
    pub fn install(hook: Arc<dyn Hook>) -> Installed {
        Installed {
            before: HOOK.replace(Some(hook)),
            thread: PhantomData,
        }
    }

    /// That this thread has a hook.
    pub struct Installed {
        before: Option<Arc<dyn Hook>>,
        /// It belongs to its thread.
        thread: PhantomData<*const ()>,
    }

    impl Drop for Installed {
        fn drop(&mut self) {
            HOOK.set(self.before.take());
        }
    }

    impl fmt::Debug for Installed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Installed").finish_non_exhaustive()
        }
    }

    pub(crate) fn pass<T>(
        mut call: Call<'_>,
        make: impl FnOnce(&Call<'_>) -> Result<T>,
    ) -> Result<T> {
        // A store may be dropped by a thread that is ending.
        let Ok(Some(hook)) = HOOK.try_with(|hook| hook.borrow().clone()) else {
            return make(&call);
        };
        hook.before(&mut call).map_err(errno)?;
        match make(&call) {
            Ok(value) => hook.after(&call, Ok(())).map_err(errno).map(|()| value),
            Err(error) => {
                let _ = hook.after(&call, Err(error.into()));
                Err(error)
            }
        }
    }

    fn errno(error: io::Error) -> Errno {
        Errno::from_io_error(&error).expect("a hook answers with errors of the system")
    }
}
