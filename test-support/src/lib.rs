//! What the tests and benches of several packages share: work that costs a
//! known amount of CPU time, processes of one's own, and the suite of tests that
//! every sampler must pass.
//!
//! A suite is a number of public functions, one body each, which every
//! implementation mounts as tests of its own. Their bodies assert what all
//! implementations promise, and hand back what they saw; who promises more asserts
//! that where it mounts them.
//!
//! Nothing of this is published, and no service links it.

#![cfg(unix)]

mod burn;
mod clock;

pub use burn::{burn, spin_hot};
pub use clock::{process_cpu, thread_cpu};

#[cfg(feature = "suites")]
mod blocking;
#[cfg(feature = "suites")]
mod captured;
#[cfg(feature = "suites")]
mod process;
#[cfg(feature = "suites")]
pub mod sampling;
#[cfg(all(feature = "suites", target_os = "linux"))]
pub mod torture;

#[cfg(feature = "suites")]
pub use blocking::Witness;
#[cfg(feature = "suites")]
pub use captured::{encode, finish, labelling_recorder, told, turn};
#[cfg(feature = "suites")]
pub use process::{in_own_process, own_process, run_alone};
