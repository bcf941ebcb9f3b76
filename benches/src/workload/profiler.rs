//! What samples a subject.

use super::Failure;

/// Something that samples this process.
pub(crate) trait Profiler {
    /// Starts to sample.
    ///
    /// # Errors
    ///
    /// If it does not.
    fn start(&self, hz: u32) -> Result<Box<dyn Running>, Failure>;
}

/// A profiler at work.
pub(crate) trait Running {
    /// Stops, and returns the profile as it would be kept, in the format of
    /// pprof.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Failure>;
}

/// Nothing at all: what everything else is compared to.
pub(crate) struct Nothing;

impl Profiler for Nothing {
    fn start(&self, _hz: u32) -> Result<Box<dyn Running>, Failure> {
        Ok(Box::new(Self))
    }
}

impl Running for Nothing {
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }
}
