//! What every implementation of a trait must do, as functions to call from its
//! tests. They panic, like any test, where it does not.

mod clock;
mod offload;
mod sampler;
mod snapshot;
mod store;

use futures::future::BoxFuture;

pub use clock::clock;
pub use offload::offload;
pub use sampler::sampler;
pub use snapshot::snapshot_source;
pub use store::{StoreFixture, store};

/// Runs a future to its end on the executor that an implementation belongs to.
pub type BlockOn<'a> = &'a mut dyn FnMut(BoxFuture<'static, ()>);
