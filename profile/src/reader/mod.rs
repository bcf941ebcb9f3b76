//! Reading many profiles together: what a viewer needs, and a service never.
//!
//! Everything here is pure, over [`Profile`](crate::Profile)s that were read
//! elsewhere. Nothing holds on to the profiles: a thousand of them can be taken in one after
//! the other.

mod binary;
mod frames;
mod merge;
mod prune;
mod select;
mod symbolize;
mod table;
mod tree;
mod values;
mod weigh;

pub use binary::Binary;
pub use frames::{Frame, FrameSet, Granularity, Stacks};
pub use merge::Merger;
pub use select::{Matcher, Selection};
pub use symbolize::Symbolized;
pub use table::{Row, Table};
pub use tree::{CallTree, NodeId};
pub use values::ValueKind;
pub use weigh::Caps;

pub use crate::readable::readable;
