//! Which task the running code belongs to.
//!
//! A [`Label`] is a small number that stands for an interned task name. The
//! wrapper around a task sets the label of the current thread for each poll
//! and restores the previous one after it. Samplers find it in one of two
//! ways, see [`LabelChannel`](crate::LabelChannel).

mod current;
mod interner;
mod markers;

pub use current::{ThreadLabel, current, introduce, observe, with};
pub(crate) use markers::enter_marked;
pub use markers::{Marker, markers};

use crate::Name;

/// Stands for the name of a task, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(u16);

/// How many different names a process remembers; later ones all become
/// [`Label::OTHER`].
pub const NAMES_MAX: usize = 1024;

/// Labels are numbers below this one.
const LABELS: usize = NAMES_MAX + 2;

impl Label {
    /// No task at all.
    pub const NONE: Self = Self(0);

    /// A task whose name came after [`NAMES_MAX`] others.
    pub const OTHER: Self = Self(1);

    /// How [`Label::OTHER`] reads.
    pub const OTHER_NAME: &'static str = "(other)";

    /// The label of `name`: the same one for the same name as long as the
    /// process lives.
    pub fn intern(name: &Name) -> Self {
        interner::intern(name)
    }

    /// The name that this label stands for; nothing for [`Label::NONE`].
    pub fn name(self) -> Option<String> {
        interner::name(self)
    }
}
