//! Against the process that runs the test: its modules, its symbols.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use common::{Scratch, builder, stack};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use tachograph_profile::{Labels, LoadedModules, Module, Names, Profile, Segment};

#[inline(never)]
fn leaf_of_the_test(n: u64) -> u64 {
    black_box(n).wrapping_mul(3)
}

/// An address a little into a function, so that it is the function's in any case.
fn inside(function: usize) -> u64 {
    function as u64 + 1
}

fn leaf() -> u64 {
    inside(leaf_of_the_test as fn(u64) -> u64 as usize)
}

/// The address of an instruction inside of `inlined_by_host`, inlined into
/// `host_of_inlined`, as the debug information tells.
#[inline(never)]
fn host_of_inlined(bytes: &[u8]) -> u64 {
    inlined_by_host(bytes)
}

#[inline(always)]
fn inlined_by_host(bytes: &[u8]) -> u64 {
    let mut sum = 0_u64;
    for &byte in bytes {
        sum = black_box(sum.rotate_left(5) ^ u64::from(byte));
    }
    sum
}

fn profile_of(addresses: &[u64], modules: &LoadedModules, names: Names) -> Profile {
    let mut builder = builder();
    for &address in addresses {
        builder.add(&[address], Labels::default(), 1);
    }
    builder.finish(modules, names, None)
}

#[test]
fn modules_agree_with_proc_maps() {
    let modules = LoadedModules::current().expect("Linux tells");
    let executable = std::env::current_exe().expect("the test has a path");
    assert_eq!(modules.main().path(), executable);
    assert_eq!(modules.main().file(), Some(Path::new("/proc/self/exe")));
    assert_eq!(modules.find(leaf()), Some(modules.main()));
    assert_eq!(modules.executable_build_id(), modules.main().build_id());

    let maps = fs::read_to_string("/proc/self/maps").expect("Linux tells");
    let mut seen = 0;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(permissions)) = (fields.next(), fields.next()) else {
            panic!("odd line {line}");
        };
        let Some(path) = fields.nth(3).filter(|it| it.starts_with('/')) else {
            continue;
        };
        if !permissions.contains('x') {
            continue;
        }
        let (start, end) = range.split_once('-').expect("a range");
        let start = u64::from_str_radix(start, 16).expect("hexadecimal");
        let end = u64::from_str_radix(end, 16).expect("hexadecimal");
        for address in [start, end - 1] {
            let module = modules.find(address).expect(line);
            assert_eq!(module.path(), Path::new(path));
        }
        seen += 1;
    }
    assert!(seen >= 1, "the program at least");
}

#[test]
fn the_symbol_table_names_functions_of_this_binary() {
    let modules = LoadedModules::current().expect("Linux tells");
    let profile = profile_of(&[leaf()], &modules, Names::SymbolTable);
    let sample = profile.samples().next().expect("one sample");
    let frame = sample.frames().next().expect("one frame");
    assert_eq!(frame.function(), "current_process::leaf_of_the_test");
    assert!(
        frame.system_name().starts_with('_') && frame.system_name().contains("leaf_of_the_test"),
        "the system name stays mangled: {}",
        frame.system_name()
    );
    assert_eq!((frame.file(), frame.line()), (None, None));
    let mapping = frame.mapping().expect("in the binary").message();
    assert_eq!(mapping.id, 1);
    assert!(mapping.has_functions);
    assert!(!mapping.has_filenames && !mapping.has_line_numbers && !mapping.has_inline_frames);
}

#[test]
fn debug_information_adds_files_lines_and_inlined_calls() {
    black_box(host_of_inlined(b"so that it exists"));
    let modules = LoadedModules::current().expect("Linux tells");
    let host = host_of_inlined as fn(&[u8]) -> u64 as usize as u64;
    // Some instruction of the first bytes belongs to the inlined loop.
    let addresses: Vec<u64> = (host + 1..host + 48).collect();
    let profile = profile_of(&addresses, &modules, Names::Debug);
    let frames: Vec<_> = profile
        .samples()
        .map(|sample| sample.frames().collect::<Vec<_>>())
        .find(|frames| {
            frames.len() >= 2
                && frames[frames.len() - 2]
                    .function()
                    .ends_with("inlined_by_host")
        })
        .expect("an inlined frame in the host");
    let [.., inlined, host] = &frames[..] else {
        unreachable!("at least two");
    };
    // A bare name if the test was built with line tables only.
    assert!(inlined.function().ends_with("inlined_by_host"));
    assert_eq!(host.function(), "current_process::host_of_inlined");
    for frame in [inlined, host] {
        let file = frame.file().expect("a file");
        assert!(file.ends_with("current_process.rs"), "{file}");
    }
    let line = |text: &str| {
        let at = include_str!("current_process.rs").lines();
        1 + at.take_while(|line| !line.starts_with(text)).count() as i64
    };
    let at = host.line().expect("a line");
    assert_eq!(at, line("fn host_of_inlined") + 1);
    let at = inlined.line().expect("a line");
    let body = line("fn inlined_by_host")..line("fn profile_of");
    assert!(body.contains(&at), "line {at} in {body:?}");
}

/// libc, where it is linked dynamically, and the address in this process of one of its exported functions, as its
/// dynamic symbols tell.
#[cfg(not(target_feature = "crt-static"))]
fn libc_function(modules: &LoadedModules, name: &str) -> (Module, u64) {
    use object::{Object, ObjectSymbol};
    let libc = modules
        .iter()
        .find(|it| it.path().to_string_lossy().contains("libc."))
        .expect("the test links libc dynamically");
    let bytes = fs::read(libc.path()).expect("libc can be read");
    let file = object::File::parse(&*bytes).expect("libc is ELF");
    let symbol = file
        .dynamic_symbols()
        .find(|it| it.name() == Ok(name) && it.is_definition())
        .expect("libc exports it");
    (libc.clone(), symbol.address().wrapping_add(libc.bias()))
}

#[cfg(not(target_feature = "crt-static"))]
#[test]
fn a_library_is_named_from_its_own_file_in_both_modes() {
    let modules = LoadedModules::current().expect("Linux tells");
    let (libc, function) = libc_function(&modules, "qsort_r");
    assert_eq!(libc.file(), Some(libc.path()));
    assert_eq!(modules.find(function), Some(&libc));
    for names in [Names::SymbolTable, Names::Debug] {
        let profile = profile_of(&[inside(function as usize)], &modules, names);
        assert_eq!(stack(&profile, 0).last(), Some(&"qsort_r"));
        let [main, mapping] = profile.mappings().collect::<Vec<_>>()[..] else {
            panic!("the main binary and libc");
        };
        assert_eq!(main.path(), modules.main().path().to_string_lossy());
        assert_eq!(mapping.path(), libc.path().to_string_lossy());
        assert_eq!(mapping.build_id(), libc.build_id());
        assert!(mapping.message().has_functions);
        assert!(!main.message().has_functions, "nothing was looked up there");
        assert_eq!(profile.comments().next(), None);
    }
}

/// The main module of this process with its names read from `file`.
fn main_with(file: &Path) -> Module {
    let modules = LoadedModules::current().expect("Linux tells");
    let main = modules.main();
    Module::new(main.path(), main.bias(), main.segments().to_vec()).with_file(Some(file.into()))
}

/// The names found for the leaf with `main`, and the comment on it.
fn outcome(main: Module, names: Names) -> (String, Option<String>) {
    let profile = profile_of(&[leaf()], &LoadedModules::new(main, []), names);
    assert_eq!(profile.total("samples"), Some(1));
    let named = profile.mappings().next().expect("main").message();
    // The last one: calls may have been inlined into the leaf.
    let name = stack(&profile, 0).pop().unwrap_or_default().to_owned();
    assert_eq!(named.has_functions, !name.contains("+0x"), "{name}");
    (name, profile.comments().next().map(str::to_owned))
}

#[test]
fn a_file_of_another_build_gives_no_names() {
    let copy = Scratch::new("another-build");
    fs::copy("/proc/self/exe", copy.path()).expect("a copy");
    for names in [Names::SymbolTable, Names::Debug] {
        let (name, comment) = outcome(main_with(copy.path()), names);
        assert_eq!(name, "current_process::leaf_of_the_test");
        assert_eq!(comment, None);

        let (name, comment) = outcome(main_with(copy.path()).with_build_id("c0ffee"), names);
        assert!(name.starts_with("current_process-"), "{name}");
        let comment = comment.expect("an explanation");
        assert!(comment.contains("build id"), "{comment}");
        assert!(comment.contains("c0ffee"), "{comment}");
    }
}

#[test]
fn only_regular_files_of_a_known_format_are_read() {
    let missing = Scratch::new("missing");
    let text = Scratch::new("text");
    fs::write(text.path(), "not a program").expect("written");
    for (file, reason) in [
        (missing.path(), "cannot open the file: No such file"),
        (Path::new("/dev/zero"), "not a regular file"),
        (Path::new("/"), "not a regular file"),
        (text.path(), "not an ELF or thin Mach-O file"),
    ] {
        let (name, comment) = outcome(main_with(file), Names::Debug);
        assert!(name.starts_with("current_process-"), "{name}");
        let comment = comment.expect("an explanation");
        assert!(comment.contains(reason), "{comment}");
    }
}

#[test]
fn one_address_without_a_name_is_enough_to_deny_that_functions_are_known() {
    let modules = LoadedModules::current().expect("Linux tells");
    let main = modules.main();
    let text = main.segments()[0];
    // A segment that goes on where the file has nothing.
    let behind = text.end + 0x1000_0000;
    let longer = Segment {
        end: behind + 0x1000,
        ..text
    };
    let main =
        Module::new(main.path(), main.bias(), [longer]).with_file(main.file().map(Path::to_owned));
    let modules = LoadedModules::new(main, []);
    for (addresses, known) in [(&[leaf()][..], true), (&[leaf(), behind], false)] {
        for names in [Names::SymbolTable, Names::Debug] {
            let profile = profile_of(addresses, &modules, names);
            let mapping = profile.mappings().next().expect("main").message();
            assert_eq!(mapping.has_functions, known);
            assert_eq!(mapping.has_line_numbers, known && names == Names::Debug);
        }
    }
}

/// Runs twice: started again from a copy, it replaces that copy while it runs.
#[test]
fn an_executable_replaced_while_it_runs_is_still_named() {
    const CHILD: &str = "TACHOGRAPH_TEST_REPLACES_ITSELF";
    if std::env::var_os(CHILD).is_none() {
        let copy = Scratch::new("replaced");
        fs::copy("/proc/self/exe", copy.path()).expect("a copy");
        let output = Command::new(copy.path())
            .args([
                "--exact",
                "an_executable_replaced_while_it_runs_is_still_named",
            ])
            .env(CHILD, "1")
            .output()
            .expect("the copy runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let path = std::env::current_exe().expect("the test has a path");
    fs::remove_file(&path).expect("removed");
    fs::write(&path, "another program").expect("replaced");

    let modules = LoadedModules::current().expect("Linux tells");
    assert_eq!(modules.main().path(), path);
    for names in [Names::SymbolTable, Names::Debug] {
        let profile = profile_of(&[leaf()], &modules, names);
        assert_eq!(
            stack(&profile, 0).last(),
            Some(&"current_process::leaf_of_the_test")
        );
        assert_eq!(profile.comments().next(), None);
    }
}

#[test]
fn compressed_debug_information_is_read() {
    let mut bytes = fs::read("/proc/self/exe").expect("the program itself");
    let before = bytes.len();
    compress_debug_sections(&mut bytes);
    assert!(
        bytes.len() > before,
        "the test was built with debug information"
    );
    let copy = Scratch::new("compressed");
    fs::write(copy.path(), bytes).expect("written");

    let frames = |main| {
        let modules = LoadedModules::new(main, []);
        let profile = profile_of(&[leaf()], &modules, Names::Debug);
        let sample = profile.samples().next().expect("one sample");
        let frames = sample
            .frames()
            .map(|it| (it.function().to_owned(), it.line()));
        frames.collect::<Vec<_>>()
    };
    let compressed = frames(main_with(copy.path()));
    assert!(
        compressed.iter().all(|(_, line)| line.is_some()),
        "{compressed:?}"
    );
    assert_eq!(compressed, frames(main_with(Path::new("/proc/self/exe"))));
}

/// Appends a compressed form of each debug section to an ELF file of 64 bits, and
/// points the section's header there.
fn compress_debug_sections(bytes: &mut Vec<u8>) {
    use object::{Object, ObjectSection};
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    };
    let original = bytes.clone();
    let file = object::File::parse(&*original).expect("ELF");
    assert!(
        file.is_64() && file.is_little_endian(),
        "what this helper is for"
    );
    let headers = word(bytes, 0x28) as usize;
    for section in file.sections() {
        if !section.name().is_ok_and(|it| it.starts_with(".debug_")) {
            continue;
        }
        let data = section.data().expect("not compressed so far");
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(data).expect("a vector takes everything");
        let zlib = zlib.finish().expect("a vector takes everything");
        let offset = bytes.len() as u64;
        // The compression header: zlib, the size and the alignment when inflated.
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(&zlib);
        let size = bytes.len() as u64 - offset;
        let header = headers + section.index().0 * 64;
        let flags = word(bytes, header + 8) | 0x800;
        bytes[header + 8..header + 16].copy_from_slice(&flags.to_le_bytes());
        bytes[header + 24..header + 32].copy_from_slice(&offset.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
    }
}

#[test]
fn a_truncated_file_is_survived() {
    let whole = fs::read("/proc/self/exe").expect("the program itself");
    let part = Scratch::new("truncated");
    for bytes in [64, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(part.path(), &whole[..bytes]).expect("written");
        let (name, _) = outcome(main_with(part.path()), Names::Debug);
        assert!(name.contains("current_process"), "{name}");
    }
}
