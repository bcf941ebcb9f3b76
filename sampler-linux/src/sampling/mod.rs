//! The sampler, where it exists.
//!
//! What runs when: [`session`] starts a capture ([`signal`], [`capture`],
//! [`drain`]). In threads that use CPU time a [`ticker`]
//! ([`timer`] or [`event`]; which [`threads`] have one is by what [`tasks`]
//! says) lets the [`handler`] run. It writes to
//! the [`ring`] what it finds in the [`context`], the [`table`] of threads and
//! the [`registry`] of labels. The drain reads that, walks the stack ([`unwind`],
//! for its [`machine`], with the tables that [`elf`] finds for the [`modules`] and
//! [`signing`] makes readable) and counts it in a [`tree`], which [`encode`]
//! turns into a profile with a word on its [`coverage`].

mod capture;
mod context;
mod cookie;
mod coverage;
mod drain;
mod elf;
mod encode;
mod event;
mod handler;
mod in_flight;
mod kernel;
mod machine;
mod memory;
mod modules;
mod random;
mod registry;
mod ring;
mod session;
mod signal;
mod signing;
mod slots;
mod stacks;
mod sync;
mod table;
mod tasks;
mod threads;
mod ticker;
mod timer;
mod tree;
mod unwind;

pub(crate) use registry::observe_labels;
pub(crate) use session::LinuxSession;
