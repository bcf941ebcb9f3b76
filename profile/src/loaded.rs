//! Asking the system what is loaded in this process.

#[cfg(any(target_os = "linux", test))]
mod maps;

#[cfg(target_os = "linux")]
#[path = "loaded/linux.rs"]
mod system;

#[cfg(target_os = "macos")]
#[path = "loaded/macos.rs"]
mod system;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use crate::error::{Error, ErrorKind, Result};
    use crate::module::LoadedModules;

    pub(crate) fn current() -> Result<LoadedModules> {
        Err(Error::new(
            ErrorKind::Unsupported,
            "loaded modules can be listed on Linux and macOS only",
        ))
    }
}

pub(crate) use system::current;
