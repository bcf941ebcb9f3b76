//! Blocking work on smol's blocking pool.

use tachograph_core::Offload;
use tachograph_core::offload::Work;

/// Sends blocking work to smol's blocking pool, from any thread.
///
/// The pool is one for the process. It grows as needed, up to 500 threads or
/// what `BLOCKING_MAX_THREADS` says, shrinks again when idle, and is never shut
/// down, so the work always runs, unless the process ends before.
///
/// While the system refuses the pool a thread that it needs, `spawn` does not
/// return: like any other use of the pool it tries again, without a pause, until
/// it gets one ([smol-rs/blocking#79]). A service that can come to its limit of
/// threads has that to fear from every use of the pool.
///
/// ```
/// use tachograph_core::offload;
/// use tachograph_smol::SmolOffload;
///
/// let sum = smol::block_on(offload::run(&SmolOffload::new(), || 2 + 2))?;
/// assert_eq!(sum, 4);
/// # Ok::<(), tachograph_core::Error>(())
/// ```
///
/// [smol-rs/blocking#79]: https://github.com/smol-rs/blocking/issues/79
#[derive(Clone, Copy, Debug, Default)]
pub struct SmolOffload {
    _private: (),
}

impl SmolOffload {
    /// Sends work to the pool.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Offload for SmolOffload {
    fn spawn(&self, work: Work) {
        smol::unblock(work).detach();
    }
}
