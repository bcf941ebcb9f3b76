//! From addresses to names.

use crate::debug::{self, DebugFrame};
use crate::error::Result;
use crate::image::Image;
use crate::module::{LoadedModules, Module};
use crate::symbols;

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
    /// The debug information (DWARF) in the module's own file: inlined calls,
    /// files and lines as well. Needs several times the time and memory, up to
    /// 256 MiB; modules with more, and what debug information does not
    /// cover, take names from the symbol table.
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
    let symbols = symbols::names(&file, link);
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

fn combine(symbol: Option<String>, debug: Vec<DebugFrame>) -> Resolved {
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
            Some(named(name, Some(frame)))
        })
        .collect();
    Resolved {
        from_debug: frames.is_some(),
        frames: frames
            .unwrap_or_else(|| symbol.into_iter().map(|name| named(name, None)).collect()),
    }
}

fn is_mangled(name: &str) -> bool {
    rustc_demangle::try_demangle(name).is_ok()
}

fn named(system_name: String, at: Option<DebugFrame>) -> Frame {
    let name = match rustc_demangle::try_demangle(&system_name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => system_name.clone(),
    };
    let (file, line, column) = at.map_or((None, 0, 0), |at| (at.file, at.line, at.column));
    Frame {
        name,
        system_name,
        file,
        line,
        column,
    }
}

fn note(module: &Module, error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = format!("no names for {}: {error}", module.path().display());
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
