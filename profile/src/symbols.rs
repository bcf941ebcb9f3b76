//! Names out of a file's symbol table.

use std::cmp::Reverse;

use object::{
    BinaryFormat, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SectionIndex,
    SectionKind, SymbolIndex, SymbolKind,
};

use crate::image::Parsed;

/// One symbol of code. Its name is read only once it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Symbol {
    start: u64,
    /// The first address behind it; the end of its section if it has no size.
    end: u64,
    index: SymbolIndex,
    sized: bool,
    global: bool,
    dynamic: bool,
}

/// The symbols of code in a file.
pub(crate) struct Symbols(Vec<Symbol>);

impl Symbols {
    pub(crate) fn of(file: &Parsed<'_>) -> Self {
        Self(arrange(code_symbols(file)))
    }

    /// The linker's name of the function at each link-time address, where the table of
    /// `file` has one. `addresses` must be ascending.
    pub(crate) fn names(&self, file: &Parsed<'_>, addresses: &[u64]) -> Vec<Option<String>> {
        containing(&self.0, addresses)
            .into_iter()
            .map(|symbol| name(file, symbol?))
            .collect()
    }
}

/// The symbol that each address lies in. Where symbols nest, that is the innermost.
fn containing<'a>(symbols: &'a [Symbol], addresses: &[u64]) -> Vec<Option<&'a Symbol>> {
    // The innermost is the one that started last; one that has ended before an
    // address has ended for all later ones too.
    let mut open: Vec<&Symbol> = Vec::new();
    let mut next = symbols.iter().peekable();
    addresses
        .iter()
        .map(|&address| {
            while let Some(symbol) = next.next_if(|symbol| symbol.start <= address) {
                open.push(symbol);
            }
            while open.pop_if(|symbol| symbol.end <= address).is_some() {}
            open.last().copied()
        })
        .collect()
}

/// Names of more than 4096 bytes, which the reader does not fetch, are left out.
fn name(file: &Parsed<'_>, symbol: &Symbol) -> Option<String> {
    let table = if symbol.dynamic {
        file.dynamic_symbol_table()?
    } else {
        file.symbol_table()?
    };
    let symbol = table.symbol_by_index(symbol.index).ok()?;
    let name = symbol.name_bytes().ok()?;
    // Mach-O puts an underscore before every name of C, and so of Rust.
    let name = match file.format() {
        BinaryFormat::MachO => name.strip_prefix(b"_").unwrap_or(name),
        _ => name,
    };
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Those of `.symtab`, or of `.dynsym` in a stripped file.
fn code_symbols(file: &Parsed<'_>) -> Vec<Symbol> {
    let sections = code_sections(file);
    let symbols: Vec<Symbol> = file
        .symbols()
        .filter_map(|symbol| code(&symbol, &sections, false))
        .collect();
    if !symbols.is_empty() {
        return symbols;
    }
    file.dynamic_symbols()
        .filter_map(|symbol| code(&symbol, &sections, true))
        .collect()
}

/// Sorts by start, the preferred one last where several start together, and ends
/// those without a size at the next one.
fn arrange(mut symbols: Vec<Symbol>) -> Vec<Symbol> {
    symbols.sort_unstable_by_key(|it| (it.start, it.global, it.sized, it.end, Reverse(it.index.0)));
    let mut following = u64::MAX;
    let mut start = u64::MAX;
    for symbol in symbols.iter_mut().rev() {
        if symbol.start != start {
            following = start;
            start = symbol.start;
        }
        if !symbol.sized {
            symbol.end = symbol.end.min(following);
        }
    }
    symbols
}

struct CodeSection {
    index: SectionIndex,
    end: u64,
}

fn code_sections(file: &Parsed<'_>) -> Vec<CodeSection> {
    file.sections()
        .filter(|section| section.kind() == SectionKind::Text)
        .map(|section| CodeSection {
            index: section.index(),
            end: section.address().saturating_add(section.size()),
        })
        .collect()
}

fn code<'data>(
    symbol: &impl ObjectSymbol<'data>,
    sections: &[CodeSection],
    dynamic: bool,
) -> Option<Symbol> {
    let index = symbol.section_index()?;
    let section = sections.iter().find(|section| section.index == index)?;
    // Hand-written assembly leaves functions untyped. Local untyped symbols are
    // not functions: on ARM they tell code from data.
    let function = match symbol.kind() {
        SymbolKind::Text => true,
        SymbolKind::Unknown => symbol.is_global(),
        _ => false,
    };
    if !function {
        return None;
    }
    let (start, size) = (symbol.address(), symbol.size());
    Some(Symbol {
        start,
        end: match size {
            0 => section.end,
            _ => start.saturating_add(size),
        },
        index: symbol.index(),
        sized: size > 0,
        global: symbol.is_global(),
        dynamic,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end of 0 stands for no size, in a section that ends at 1000.
    fn symbol(number: usize, start: u64, end: u64, global: bool) -> Symbol {
        Symbol {
            start,
            end: if end == 0 { 1000 } else { end },
            index: SymbolIndex(number),
            sized: end != 0,
            global,
            dynamic: false,
        }
    }

    fn found(symbols: &[Symbol], addresses: &[u64]) -> Vec<Option<usize>> {
        let symbols = arrange(symbols.to_vec());
        containing(&symbols, addresses)
            .into_iter()
            .map(|it| it.map(|it| it.index.0))
            .collect()
    }

    #[test]
    fn a_size_is_honoured_at_both_ends() {
        let symbols = [symbol(1, 100, 120, true), symbol(2, 150, 160, true)];
        assert_eq!(
            found(&symbols, &[99, 100, 119, 120, 149, 150, 159, 160, 2000]),
            [
                None,
                Some(1),
                Some(1),
                None,
                None,
                Some(2),
                Some(2),
                None,
                None
            ],
        );
    }

    #[test]
    fn without_a_size_a_symbol_reaches_to_the_next_or_the_end_of_its_section() {
        let symbols = [
            symbol(1, 100, 0, true),
            symbol(2, 200, 0, true),
            symbol(3, 200, 0, false),
        ];
        assert_eq!(
            found(&symbols, &[100, 199, 200, 999, 1000]),
            [Some(1), Some(1), Some(2), Some(2), None],
        );
    }

    #[test]
    fn the_innermost_of_nested_symbols_wins_and_the_outer_one_goes_on() {
        let symbols = [
            symbol(1, 100, 200, true),
            symbol(2, 120, 140, true),
            symbol(3, 125, 130, true),
        ];
        assert_eq!(
            found(&symbols, &[110, 121, 126, 135, 150, 200]),
            [Some(1), Some(2), Some(3), Some(2), Some(1), None],
        );
    }

    #[test]
    fn of_aliases_the_global_then_the_sized_then_the_first_wins() {
        let global = [symbol(1, 100, 120, false), symbol(2, 100, 120, true)];
        assert_eq!(found(&global, &[100]), [Some(2)]);
        let sized = [symbol(1, 100, 120, true), symbol(2, 100, 0, true)];
        assert_eq!(found(&sized, &[100]), [Some(1)]);
        let first = [symbol(2, 100, 120, true), symbol(1, 100, 120, true)];
        assert_eq!(found(&first, &[100]), [Some(1)]);
    }
}
