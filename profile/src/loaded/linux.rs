//! Linux: `/proc/self/maps`, joined with what the dynamic linker knows.

use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use findshlibs::{Segment as _, SharedLibrary, TargetSharedLibrary};

use super::maps::{self, Mapping};
use crate::error::{Error, ErrorKind, Result};
use crate::module::{LoadedModules, Module, Segment, build_id_text};

const MAPS: &str = "/proc/self/maps";
const EXECUTABLE: &str = "/proc/self/exe";

pub(crate) fn current() -> Result<LoadedModules> {
    let text = fs::read(MAPS).map_err(|source| {
        Error::new(
            ErrorKind::Io,
            "cannot read /proc/self/maps, which tells what is loaded",
        )
        .caused_by(source)
    })?;
    let executable = fs::read_link(EXECUTABLE).ok();
    let executable = executable.as_ref().map(|path| path.as_os_str().as_bytes());
    join(&maps::executable(&text), &libraries(), executable).ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "/proc/self/maps lists no executable file; at least the program itself should be there",
        )
    })
}

/// What the dynamic linker knows of one module.
struct Library {
    code: Vec<Range<u64>>,
    bias: u64,
    build_id: Option<String>,
}

/// In the order of dl_iterate_phdr(3): the main program first.
fn libraries() -> Vec<Library> {
    let mut libraries = Vec::new();
    TargetSharedLibrary::each(|library| {
        let bias = library.virtual_memory_bias().0 as u64;
        libraries.push(Library {
            code: library
                .segments()
                .filter(|segment| segment.is_code())
                .map(|segment| {
                    // Not by the crate's own sum, which a negative bias overflows.
                    let start = bias.wrapping_add(segment.stated_virtual_memory_address().0 as u64);
                    start..start.saturating_add(segment.len() as u64)
                })
                .collect(),
            bias,
            build_id: library.id().map(|id| build_id_text(id.as_bytes())),
        });
    });
    libraries
}

/// `executable` is the target of `/proc/self/exe`, as the kernel writes it.
fn join(
    mappings: &[Mapping],
    libraries: &[Library],
    executable: Option<&[u8]>,
) -> Option<LoadedModules> {
    struct Found<'a> {
        path: &'a [u8],
        bias: u64,
        library: Option<usize>,
        segments: Vec<Segment>,
    }
    let mut all: Vec<Found<'_>> = Vec::new();
    for mapping in mappings {
        let library = libraries.iter().position(|library| {
            library
                .code
                .iter()
                .any(|code| code.start < mapping.end && mapping.start < code.end)
        });
        // Without the dynamic linker's word, as for a file mapped by hand, link
        // addresses are taken to equal file offsets, as most linkers lay them out.
        let bias = library.map_or(mapping.start.wrapping_sub(mapping.file_offset), |it| {
            libraries[it].bias
        });
        let segment = Segment {
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.file_offset,
        };
        match all
            .iter_mut()
            .find(|it| it.path == mapping.path && it.bias == bias)
        {
            Some(found) => push(&mut found.segments, segment),
            None => all.push(Found {
                path: &mapping.path,
                bias,
                library,
                segments: vec![segment],
            }),
        }
    }
    // By address rather than by name: a program started through the dynamic linker
    // by hand has /proc/self/exe pointing to that one.
    let main = all
        .iter()
        .position(|it| it.library == Some(0))
        .or_else(|| all.iter().position(|it| Some(it.path) == executable))
        .unwrap_or(0);
    let mut modules: Vec<Module> = all
        .into_iter()
        .map(|it| {
            let (path, deleted) = maps::linked_path(it.path);
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            let file = if Some(it.path) == executable {
                // Leads to the very file that is running, even when it was
                // unlinked or replaced since.
                Some(PathBuf::from(EXECUTABLE))
            } else {
                (!deleted && path.is_absolute()).then(|| path.clone())
            };
            let module = Module::new(path, it.bias, it.segments).with_file(file);
            match it.library.and_then(|it| libraries[it].build_id.clone()) {
                Some(build_id) => module.with_build_id(build_id),
                None => module,
            }
        })
        .collect();
    if modules.is_empty() {
        return None;
    }
    let main = modules.remove(main);
    Some(LoadedModules::new(main, modules))
}

/// The kernel splits a segment where page attributes differ; together it is one
/// again.
fn push(segments: &mut Vec<Segment>, next: Segment) {
    match segments.last_mut() {
        Some(last)
            if last.end == next.start
                && last.file_offset + (last.end - last.start) == next.file_offset =>
        {
            last.end = next.end;
        }
        _ => segments.push(next),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn mapping(start: u64, end: u64, file_offset: u64, path: &str) -> Mapping {
        Mapping {
            start,
            end,
            file_offset,
            path: path.into(),
        }
    }

    fn library(code: Range<u64>, bias: u64, build_id: &str) -> Library {
        Library {
            code: vec![code],
            bias,
            build_id: Some(build_id.into()),
        }
    }

    #[test]
    fn main_is_found_by_address_and_comes_first() {
        let mappings = [
            mapping(0x1000, 0x2000, 0, "/lib/ld.so"),
            mapping(0x5000, 0x6000, 0x1000, "/bin/app (deleted)"),
            mapping(0x6000, 0x7000, 0x2000, "/bin/app (deleted)"),
            mapping(0x8000, 0x9000, 0x9000, "/bin/app (deleted)"),
            mapping(0xa000, 0xb000, 0x500, "/gone.so (deleted)"),
            mapping(0xf000, 0xf800, 0, "[vdso]"),
        ];
        let libraries = [
            library(0x5100..0x6f00, 0x4000, "aa"),
            library(0x1000..0x1800, 0x1000, "bb"),
        ];
        let modules = join(&mappings, &libraries, Some(b"/bin/app (deleted)")).expect("modules");
        let main = modules.main();
        assert_eq!(main.path(), Path::new("/bin/app"));
        assert_eq!(main.file(), Some(Path::new("/proc/self/exe")));
        assert_eq!(main.build_id(), Some("aa"));
        assert_eq!(main.bias(), 0x4000);
        assert_eq!(
            main.segments(),
            [Segment {
                start: 0x5000,
                end: 0x7000,
                file_offset: 0x1000
            }],
        );
        let shown: Vec<_> = modules
            .iter()
            .map(|it| (it.path().to_str(), it.file().is_some(), it.build_id()))
            .collect();
        assert_eq!(
            shown,
            [
                (Some("/bin/app"), true, Some("aa")),
                (Some("/lib/ld.so"), true, Some("bb")),
                // Mapped by hand, far from what the linker laid out: another bias.
                (Some("/bin/app"), true, None),
                (Some("/gone.so"), false, None),
                (Some("[vdso]"), false, None),
            ]
        );
    }

    #[test]
    fn a_program_run_through_the_dynamic_linker_is_read_from_its_own_path() {
        let mappings = [
            mapping(0x1000, 0x2000, 0, "/lib/ld.so"),
            mapping(0x5000, 0x6000, 0, "/bin/app"),
        ];
        let libraries = [
            library(0x5000..0x6000, 0x5000, "aa"),
            library(0x1000..0x2000, 0x1000, "bb"),
        ];
        let modules = join(&mappings, &libraries, Some(b"/lib/ld.so")).expect("modules");
        assert_eq!(modules.main().file(), Some(Path::new("/bin/app")));
    }

    #[test]
    fn nothing_mapped_is_no_list() {
        assert!(join(&[], &[], None).is_none());
    }
}
