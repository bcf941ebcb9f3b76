//! How inlined functions are called, out of what this compiler writes.

#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::builder;
use object::{Object as _, ObjectSymbol as _};
use tachograph_profile::{Labels, LoadedModules, Module, Names, Segment};

const MAIN: &str = "
mod deep;

fn main() {
    println!(\"{}\", outer(std::env::args().count() as u64));
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    deep::Twice(n).of::<u32>()
}
";

const DEEP: &str = "
pub struct Twice(pub u64);

impl Twice {
    #[inline(always)]
    pub fn of<T: Default + Into<u64>>(&self) -> u64 {
        let half = |n: u64| std::hint::black_box(n) * 3;
        half(self.0) ^ T::default().into()
    }
}
";

fn compiled(directory: &Path, debug: &str) -> PathBuf {
    let program = directory.join(debug);
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .current_dir(directory)
        .args(["-O", "--edition", "2024", "src/demo.rs", "-o"])
        .arg(&program)
        .arg(format!("-Cdebuginfo={debug}"))
        .status();
    assert!(status.expect("the compiler runs").success());
    program
}

/// The names of all functions in the code of `outer`.
fn names_in_outer(program: &Path) -> BTreeSet<String> {
    let bytes = fs::read(program).expect("it was made");
    let file = object::File::parse(&*bytes).expect("it is a program");
    let outer = file.symbols().find(|it| {
        it.name()
            .is_ok_and(|it| it.contains("demo") && it.contains("5outer"))
    });
    let outer = outer.expect("it is not inlined");
    let text = Segment {
        start: outer.address(),
        end: outer.address() + outer.size(),
        file_offset: 0,
    };
    let mut builder = builder();
    for address in text.start..text.end {
        builder.add(&[address], Labels::default(), 1);
    }
    let module = Module::new(program, 0, [text]);
    let profile = builder.finish(&LoadedModules::new(module, []), Names::Debug, None);
    profile
        .samples()
        .flat_map(|it| it.stack().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn inlined_functions_have_a_path_with_line_tables_alone() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inlined");
    fs::create_dir_all(directory.join("src")).expect("create");
    fs::write(directory.join("src/demo.rs"), MAIN).expect("write");
    fs::write(directory.join("src/deep.rs"), DEEP).expect("write");
    for (debug, expected) in [
        (
            "line-tables-only",
            [
                "demo::deep::of",
                "demo::deep::{closure#0}",
                "demo::outer",
                "core::hint::black_box",
            ],
        ),
        (
            "full",
            [
                "demo::deep::Twice::of",
                "demo::deep::Twice::of::{{closure}}",
                "demo::outer",
                "core::hint::black_box",
            ],
        ),
    ] {
        let names = names_in_outer(&compiled(&directory, debug));
        for name in expected {
            assert!(names.contains(name), "{debug}: {name} of {names:?}");
        }
    }
}
