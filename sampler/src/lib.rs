//! The best sampler of Tachograph for the target: `tachograph-sampler-linux` on
//! Linux (x86_64 and aarch64), `tachograph-sampler-pprof` elsewhere.
//!
//! ```
//! use tachograph_sampler::BestSampler;
//!
//! let sampler = BestSampler::new();
//! # let _ = sampler;
//! ```

#![forbid(unsafe_code)]

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use tachograph_sampler_linux::LinuxSampler as BestSampler;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub use tachograph_sampler_pprof::PprofSampler as BestSampler;
