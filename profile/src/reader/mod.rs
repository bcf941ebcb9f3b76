//! Reading many profiles together: what a viewer needs, and a service never.
//!
//! Everything here is pure, over [`Profile`](crate::Profile)s that were read
//! elsewhere. Nothing holds on to the profiles: a thousand of them can be taken in one after
//! the other.

mod frames;
mod select;
mod table;
mod values;

pub use frames::{Frame, FrameSet, Granularity, Stacks};
pub use select::{Matcher, Selection};
pub use table::{Row, Table};
pub use values::ValueKind;
