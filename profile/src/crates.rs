//! Which crate of Rust, and which module of it, a source file is of.

use std::collections::HashMap;

use addr2line::gimli::{Dwarf, Reader, UnitRef};

use crate::debug::text;

/// More than any program has; the debug information of none is held for more.
const CRATES_MAX: usize = 4096;

/// How deep below a crate's root a file is looked for.
const DEPTH_MAX: usize = 32;

/// The crates that a program was made of.
///
/// Where debug information has nothing but line tables, it knows inlined functions by
/// bare names and files. But each unit says which crate it is of, and in which file
/// that begins; and modules are where files are.
#[derive(Debug, Default)]
pub(crate) struct Crates {
    by_root: HashMap<String, String>,
    by_directory: HashMap<String, String>,
}

impl Crates {
    pub(crate) fn of<R: Reader>(dwarf: &Dwarf<R>) -> Self {
        let mut crates = Self::default();
        let mut headers = dwarf.units();
        // What is beyond a header that cannot be understood is not known.
        while let Ok(Some(header)) = headers.next() {
            // Its other units are not worthless for one that cannot be.
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            let unit = UnitRef::new(dwarf, &unit);
            let directory = unit.comp_dir.clone().and_then(|it| text(it).ok());
            let name = unit.name.clone().and_then(|it| text(it).ok());
            crates.add(
                directory.as_deref().unwrap_or(""),
                name.as_deref().unwrap_or(""),
            );
        }
        crates
    }

    /// Units of Rust are called `src/lib.rs/@/name.0123456789abcdef-cgu.0`.
    fn add(&mut self, directory: &str, unit: &str) {
        let Some((root, name)) = unit.rsplit_once("/@/") else {
            return;
        };
        let name = name.split('.').next().unwrap_or_default();
        if !is_identifier(name) || self.by_root.len() == CRATES_MAX {
            return;
        }
        let root = match root.starts_with('/') {
            true => root.to_owned(),
            false => format!("{directory}/{root}"),
        };
        let Some((directory, file)) = root.rsplit_once('/') else {
            return;
        };
        // Beside `main.rs`, modules are those of the library, if there is one.
        if file == "lib.rs" || !self.by_directory.contains_key(directory) {
            self.by_directory
                .insert(directory.to_owned(), name.to_owned());
        }
        self.by_root.insert(root, name.to_owned());
    }

    /// The path of the module that is in a file.
    pub(crate) fn module(&self, file: &str) -> Option<String> {
        // The compiler's own sources have another place where they are installed.
        if let Some((_, path)) = file.split_once("/lib/rustlib/src/rust/library/") {
            let (name, file) = path.split_once("/src/")?;
            return is_identifier(name).then(|| below(name, file));
        }
        if let Some(name) = self.by_root.get(file) {
            return Some(name.clone());
        }
        let directories = file.rmatch_indices('/').take(DEPTH_MAX);
        directories
            .map(|(place, _)| (&file[..place], &file[place + 1..]))
            .find_map(|(directory, file)| Some(below(self.by_directory.get(directory)?, file)))
    }
}

/// The path of the module of a file below the root of a crate; that of the crate if
/// a module cannot be called so.
fn below(name: &str, file: &str) -> String {
    let modules = file.strip_suffix(".rs").unwrap_or(file);
    let modules = match modules {
        "lib" | "main" | "mod" => "",
        modules => modules.strip_suffix("/mod").unwrap_or(modules),
    };
    if modules.split('/').all(is_identifier) {
        format!("{name}::{}", modules.replace('/', "::"))
    } else {
        name.to_owned()
    }
}

fn is_identifier(text: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|it: char| it.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_crate_that_begins_nearest_above_it() {
        let mut crates = Crates::default();
        for (directory, unit) in [
            ("/srv/app", "src/main.rs/@/app.0123456789abcdef-cgu.0"),
            ("/srv/app", "src/lib.rs/@/shop.0123456789abcdef-cgu.0"),
            ("/srv/app", "src/bin/tool.rs/@/tool.123456789abcdef-cgu.12"),
            (
                "/git/dep-1",
                "/git/dep-1/core/src/lib.rs/@/dep_core.1-cgu.0",
            ),
            (
                "/rustc/1",
                "/rustc/1/library/core/src/lib.rs/@/core.1-cgu.0",
            ),
            ("/srv/c", "main.c"),
            ("/srv/c", "src/lib.rs/@/not a crate.1-cgu.0"),
            ("", ""),
        ] {
            crates.add(directory, unit);
        }
        for (file, expected) in [
            ("/srv/app/src/main.rs", Some("app")),
            ("/srv/app/src/lib.rs", Some("shop")),
            ("/srv/app/src/cart/mod.rs", Some("shop::cart")),
            ("/srv/app/src/cart/total.rs", Some("shop::cart::total")),
            ("/srv/app/src/not-a-module.rs", Some("shop")),
            ("/srv/app/src/../shared.rs", Some("shop")),
            ("/srv/app/src/bin/tool.rs", Some("tool")),
            ("/git/dep-1/core/src/labels.rs", Some("dep_core::labels")),
            ("/rustc/1/library/core/src/cmp.rs", Some("core::cmp")),
            (
                "/usr/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
                Some("alloc::vec"),
            ),
            ("/srv/c/main.c", None),
            ("main.rs", None),
            ("", None),
        ] {
            assert_eq!(crates.module(file).as_deref(), expected, "{file}");
        }
    }

    #[test]
    fn units_without_end_are_not_held() {
        let mut crates = Crates::default();
        for number in 0..2 * CRATES_MAX {
            crates.add("/srv", &format!("{number}/lib.rs/@/a.1-cgu.0"));
        }
        assert_eq!(crates.by_root.len(), CRATES_MAX);
        assert_eq!(crates.module(&"/".repeat(4096)), None);
    }
}
