//! macOS: what dyld knows.

use findshlibs::{Segment as _, SharedLibrary, TargetSharedLibrary};

use crate::error::{Error, ErrorKind, Result};
use crate::module::{LoadedModules, Module, Segment, build_id_text};

pub(crate) fn current() -> Result<LoadedModules> {
    let mut modules = Vec::new();
    TargetSharedLibrary::each(|library| {
        let bias = library.virtual_memory_bias().0 as u64;
        let segments = library
            .segments()
            .filter(|segment| segment.is_code())
            .map(|segment| {
                let start = bias.wrapping_add(segment.stated_virtual_memory_address().0 as u64);
                Segment {
                    start,
                    end: start.saturating_add(segment.len() as u64),
                    file_offset: 0,
                }
            });
        let module = Module::new(library.name(), bias, segments);
        modules.push(match library.id() {
            Some(id) => module.with_build_id(build_id_text(id.as_bytes())),
            None => module,
        });
    });
    // dyld lists the main program first.
    let mut modules = modules.into_iter();
    let main = modules.next().ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "dyld lists no image; at least the program itself should be there",
        )
    })?;
    Ok(LoadedModules::new(main, modules))
}
