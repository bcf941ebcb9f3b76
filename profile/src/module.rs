//! What is mapped executable in a process: modules and their segments.

use std::path::{Path, PathBuf};

use crate::error::Result;

/// A stretch of a module that is mapped executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// First address, as in the process.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where in the file `start` comes from, in bytes; 0 where the system does
    /// not tell.
    pub file_offset: u64,
}

/// An executable or a shared library in a process.
///
/// ```
/// use tachograph_profile::{Module, Segment};
///
/// let text = Segment { start: 0x5000_1000, end: 0x5000_3000, file_offset: 0x1000 };
/// let module = Module::new("/srv/bin/demo", 0x5000_0000, [text]).with_build_id("c0ffee");
/// assert_eq!(module.link_address(0x5000_1234), 0x1234);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    path: PathBuf,
    file: Option<PathBuf>,
    bias: u64,
    build_id: Option<String>,
    segments: Vec<Segment>,
}

impl Module {
    /// A module from plain data, whose names are read from the file at `path`.
    ///
    /// `bias` is an address in the process minus the same address as the linker
    /// saw it, modulo 2⁶⁴.
    #[must_use]
    pub fn new(
        path: impl Into<PathBuf>,
        bias: u64,
        segments: impl IntoIterator<Item = Segment>,
    ) -> Self {
        let path = path.into();
        let mut segments: Vec<Segment> = segments.into_iter().collect();
        segments.sort_by_key(|segment| segment.start);
        Self {
            file: Some(path.clone()),
            path,
            bias,
            build_id: None,
            segments,
        }
    }

    /// Sets the build id, in lower-case hexadecimal digits. A file with another
    /// one is not used for names.
    #[must_use]
    pub fn with_build_id(mut self, build_id: impl Into<String>) -> Self {
        self.build_id = Some(build_id.into());
        self
    }

    /// Sets the file to read names from, where it is not the path that the module
    /// is known by; `None` if no file is to be read at all.
    #[must_use]
    pub fn with_file(mut self, file: Option<PathBuf>) -> Self {
        self.file = file;
        self
    }

    /// The path the system knows the module by; `[vdso]` for the code that the
    /// Linux kernel maps into every process.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that names are read from, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// An address in the process minus the same address as the linker saw it,
    /// modulo 2⁶⁴.
    #[must_use]
    pub fn bias(&self) -> u64 {
        self.bias
    }

    /// What identifies this build, in hexadecimal digits, if the linker left it.
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// The executable stretches, by address.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// An address in the process, as the linker saw it: the same in every run.
    #[must_use]
    pub fn link_address(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }

    /// The last part of the path, for people.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// A build id as text: lower-case hexadecimal digits.
pub(crate) fn build_id_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All modules of a process.
///
/// ```
/// # if cfg!(any(target_os = "linux", target_os = "macos")) {
/// use tachograph_profile::LoadedModules;
///
/// let modules = LoadedModules::current()?;
/// let segment = modules.main().segments()[0];
/// assert_eq!(modules.find(segment.start), Some(modules.main()));
/// # }
/// # Ok::<(), tachograph_profile::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedModules {
    // The main executable first.
    modules: Vec<Module>,
    // Every segment of every module, by start address.
    index: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) module: usize,
    pub(crate) segment: usize,
}

impl LoadedModules {
    /// What is loaded in this process now.
    ///
    /// Takes about a millisecond. On Linux it reads `/proc/self/maps`, and the
    /// build ids from memory, so that what is on disk by now does not matter.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on systems other
    /// than Linux and macOS; [`ErrorKind::Io`](crate::ErrorKind::Io) if the system
    /// does not tell, such as where `/proc` is not mounted.
    pub fn current() -> Result<Self> {
        crate::loaded::current()
    }

    /// Modules from plain data: the main executable, then the others. Segments
    /// must not overlap.
    #[must_use]
    pub fn new(main: Module, others: impl IntoIterator<Item = Module>) -> Self {
        let modules: Vec<Module> = std::iter::once(main).chain(others).collect();
        let mut index: Vec<Place> = modules
            .iter()
            .enumerate()
            .flat_map(|(module, it)| {
                it.segments
                    .iter()
                    .enumerate()
                    .map(move |(segment, range)| Place {
                        start: range.start,
                        end: range.end,
                        module,
                        segment,
                    })
            })
            .collect();
        index.sort_by_key(|place| place.start);
        Self { modules, index }
    }

    /// The main executable.
    #[must_use]
    pub fn main(&self) -> &Module {
        &self.modules[0]
    }

    /// The build id of the main executable, in hexadecimal digits, if the linker
    /// left one.
    #[must_use]
    pub fn executable_build_id(&self) -> Option<&str> {
        self.main().build_id()
    }

    /// The module that has `address` in one of its segments.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Module> {
        self.place(address).map(|place| &self.modules[place.module])
    }

    /// All modules, the main executable first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Module> {
        self.modules.iter()
    }

    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let after = self.index.partition_point(|place| place.start <= address);
        let place = self.index[after.checked_sub(1)?];
        (address < place.end).then_some(place)
    }

    pub(crate) fn get(&self, module: usize) -> &Module {
        &self.modules[module]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, end: u64) -> Segment {
        Segment {
            start,
            end,
            file_offset: 0,
        }
    }

    #[test]
    fn finds_by_address_and_respects_both_ends() {
        let main = Module::new("/main", 0, [segment(300, 400), segment(100, 200)]);
        let lib = Module::new("/lib", 0, [segment(200, 250)]);
        let modules = LoadedModules::new(main, [lib]);
        let found = |address| {
            modules
                .find(address)
                .map(|module| module.path().to_string_lossy().into_owned())
        };
        assert_eq!(found(99), None);
        assert_eq!(found(100).as_deref(), Some("/main"));
        assert_eq!(found(199).as_deref(), Some("/main"));
        assert_eq!(found(200).as_deref(), Some("/lib"));
        assert_eq!(found(249).as_deref(), Some("/lib"));
        assert_eq!(found(250), None);
        assert_eq!(found(399).as_deref(), Some("/main"));
        assert_eq!(found(400), None);
        assert_eq!(found(u64::MAX), None);
    }

    #[test]
    fn a_bias_may_wrap() {
        let module = Module::new("/prelinked", 0u64.wrapping_sub(0x1000), []);
        assert_eq!(module.link_address(0x500), 0x1500);
    }
}
