//! From addresses to names.

use crate::debug::{self, DebugFrame};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::module::{LoadedModules, Module};
use crate::readable::{NAME_BYTES_MAX, beginning, readable};
use crate::symbols::Symbols;

/// Where function names come from.
///
/// In a service the symbol table is the better choice: with the build id in the
/// profile, lines and inlined calls can be added later by whoever has the binary
/// with its debug information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Names {
    /// The symbol table alone: function names, without files, lines and inlined
    /// calls.
    #[default]
    SymbolTable,
    /// The debug information (DWARF) in the module's own file: inlined calls, files
    /// and lines as well.
    ///
    /// Takes ten times as long or more, and up to three times the size of the debug
    /// information in memory. Beyond 256 MiB of it, and wherever it does not reach, the
    /// symbol table has to do; split debug information (`.dwo`, `.dwp`, `.dSYM`) is not
    /// opened. Where it has nothing but line tables (`debug = "line-tables-only"`),
    /// inlined functions go by the path of the module that their file is, without
    /// types and outer functions.
    Debug,
}

/// One function at an address.
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) system_name: String,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// What is known of an address.
#[derive(Default)]
pub(crate) struct Resolved {
    /// Innermost first; more than one where calls were inlined, none if nothing is
    /// known.
    pub(crate) frames: Vec<Frame>,
    /// Whether debug information was there, so that inlined calls are shown.
    pub(crate) from_debug: bool,
}

/// What [`resolve`] found.
pub(crate) struct Resolution {
    /// One for each address asked for.
    pub(crate) resolved: Vec<Resolved>,
    /// Which modules gave no names, and why; for people.
    pub(crate) notes: Vec<String>,
}

/// Looks up addresses, which must be ascending.
///
/// One module's file is open at a time, and what was read of it is dropped before
/// the next.
pub(crate) fn resolve(modules: &LoadedModules, addresses: &[u64], names: Names) -> Resolution {
    let mut by_module: Vec<Vec<usize>> = modules.iter().map(|_| Vec::new()).collect();
    for (index, &address) in addresses.iter().enumerate() {
        if let Some(place) = modules.place(address) {
            by_module[place.module].push(index);
        }
    }
    let mut resolution = Resolution {
        resolved: addresses.iter().map(|_| Resolved::default()).collect(),
        notes: Vec::new(),
    };
    for (module, mut indices) in modules.iter().zip(by_module) {
        if indices.is_empty() {
            continue;
        }
        // Link addresses ascend as well, unless the bias wraps between two of them.
        indices.sort_by_key(|&index| module.link_address(addresses[index]));
        let link: Vec<u64> = indices
            .iter()
            .map(|&index| module.link_address(addresses[index]))
            .collect();
        match resolve_in(module, &link, names) {
            Ok(found) => {
                for (index, found) in indices.into_iter().zip(found) {
                    resolution.resolved[index] = found;
                }
            }
            Err(error) => resolution.notes.push(note(module, &error)),
        }
    }
    resolution
}

fn resolve_in(module: &Module, link: &[u64], names: Names) -> Result<Vec<Resolved>> {
    let Some(path) = module.file() else {
        return Ok(link.iter().map(|_| Resolved::default()).collect());
    };
    let image = Image::open(path)?;
    let file = image.parse(module.build_id())?;
    let symbols = Symbols::of(&file).names(&file, link);
    let mut debug = match names {
        Names::SymbolTable => Vec::new(),
        // Without usable debug information the symbol table has to do.
        Names::Debug => debug::frames(&file, link).unwrap_or_default(),
    };
    debug.resize_with(link.len(), Vec::new);
    Ok(symbols
        .into_iter()
        .zip(debug)
        .map(|(symbol, debug)| combine(symbol, debug))
        .collect())
}

pub(crate) fn combine(symbol: Option<String>, debug: Vec<DebugFrame>) -> Resolved {
    let Some(outermost) = debug.len().checked_sub(1) else {
        return Resolved {
            frames: symbol.into_iter().map(|name| named(name, None)).collect(),
            from_debug: false,
        };
    };
    let frames: Option<Vec<Frame>> = debug
        .into_iter()
        .enumerate()
        .map(|(depth, mut frame)| {
            let own = frame.name.take();
            let module = frame.module.take();
            // Only the outermost function has a symbol. Debug information may give
            // its bare name, without the path that the mangled one contains.
            let name = match (own, &symbol) {
                (Some(own), Some(symbol)) if depth == outermost => {
                    if is_mangled(symbol) && !is_mangled(&own) {
                        symbol.clone()
                    } else {
                        own
                    }
                }
                (None, Some(symbol)) if depth == outermost => symbol.clone(),
                (own, _) => own?,
            };
            let mut named = named(name, Some(frame));
            let is_own = depth < outermost || symbol.is_none();
            if let Some(module) = module.filter(|_| is_own && !is_mangled(&named.system_name)) {
                named.name = in_module(&module, &named.name);
            }
            Some(named)
        })
        .collect();
    Resolved {
        from_debug: frames.is_some(),
        frames: frames
            .unwrap_or_else(|| symbol.into_iter().map(|name| named(name, None)).collect()),
    }
}

/// A bare function of a module, which the types it was made for do not tell apart: they
/// are not in the names of the others, either.
fn in_module(module: &str, name: &str) -> String {
    let end = name.find('<').filter(|&it| it > 0).unwrap_or(name.len());
    let name = format!("{module}::{}", &name[..end]);
    beginning(&name, NAME_BYTES_MAX).to_owned()
}

fn is_mangled(name: &str) -> bool {
    rustc_demangle::try_demangle(name).is_ok()
}

fn named(system_name: String, at: Option<DebugFrame>) -> Frame {
    let name = readable(&system_name, false);
    let (file, line, column) = at.map_or((None, 0, 0), |at| (at.file, at.line, at.column));
    Frame {
        name,
        system_name,
        file,
        line,
        column,
    }
}

fn note(module: &Module, error: &Error) -> String {
    format!("no names for {}: {error:#}", module.path().display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANGLED: &str = "_ZN4demo5outer17h0123456789abcdefE";

    fn debug(name: Option<&str>, line: u32) -> DebugFrame {
        DebugFrame {
            name: name.map(str::to_owned),
            module: Some("demo::deep".to_owned()),
            file: Some("src/lib.rs".to_owned()),
            line,
            column: 5,
        }
    }

    fn shown(symbol: Option<&str>, frames: Vec<DebugFrame>) -> (Vec<(String, String, u32)>, bool) {
        let resolved = combine(symbol.map(str::to_owned), frames);
        let frames = resolved.frames.into_iter();
        let frames = frames.map(|it| (it.name, it.system_name, it.line));
        (frames.collect(), resolved.from_debug)
    }

    fn frame(name: &str, system_name: &str, line: u32) -> (String, String, u32) {
        (name.to_owned(), system_name.to_owned(), line)
    }

    #[test]
    fn without_debug_information_the_symbol_names_the_address() {
        assert_eq!(shown(None, vec![]), (vec![], false));
        assert_eq!(
            shown(Some(MANGLED), vec![]),
            (vec![frame("demo::outer", MANGLED, 0)], false)
        );
        assert_eq!(
            shown(Some("memcpy"), vec![]),
            (vec![frame("memcpy", "memcpy", 0)], false)
        );
    }

    #[test]
    fn a_bare_name_gives_way_to_a_mangled_symbol_in_the_outermost_frame_alone() {
        let frames = vec![debug(Some("inner"), 7), debug(Some("outer"), 3)];
        assert_eq!(
            shown(Some(MANGLED), frames),
            (
                vec![
                    frame("demo::deep::inner", "inner", 7),
                    frame("demo::outer", MANGLED, 3)
                ],
                true
            )
        );
        let alias = vec![debug(Some("__libc_malloc"), 3)];
        assert_eq!(
            shown(Some("malloc"), alias),
            (vec![frame("__libc_malloc", "__libc_malloc", 3)], true)
        );
    }

    #[test]
    fn bare_names_get_the_path_of_their_module_and_lose_generics() {
        let frames = vec![
            debug(Some("{closure#0}<a::B<u8>, c::D>"), 9),
            debug(Some(MANGLED), 8),
            debug(Some("poll<a::B>"), 7),
        ];
        let expected = vec![
            frame("demo::deep::{closure#0}", "{closure#0}<a::B<u8>, c::D>", 9),
            frame("demo::outer", MANGLED, 8),
            frame("demo::deep::poll", "poll<a::B>", 7),
        ];
        assert_eq!(shown(None, frames), (expected, true));
    }

    #[test]
    fn lines_without_names_take_the_symbol_or_are_given_up() {
        assert_eq!(
            shown(Some("start"), vec![debug(None, 3)]),
            (vec![frame("start", "start", 3)], true)
        );
        assert_eq!(shown(None, vec![debug(None, 3)]), (vec![], false));
        let frames = vec![debug(None, 7), debug(Some("outer"), 3)];
        assert_eq!(
            shown(Some("start"), frames),
            (vec![frame("start", "start", 0)], false)
        );
    }
}
