//! Lines and inlined calls out of a binary that is still there: this test's own.

#![cfg(target_os = "linux")]

mod common;

use std::cell::RefCell;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use common::{complaint, printed, tachograph};
use serde_json::Value;
use tachograph_profile::reader::Binary;
use tachograph_profile::{Labels, LoadedModules, Names, Profile, ProfileBuilder, ProfileMeta};

#[inline(never)]
fn hot_function(n: u64) -> u64 {
    black_box(n).wrapping_mul(3)
}

fn builder() -> ProfileBuilder {
    ProfileBuilder::new(ProfileMeta {
        started_at: SystemTime::UNIX_EPOCH,
        duration: Duration::from_secs(1),
        frequency_hz: 100,
    })
}

/// A profile of this process, as a recorder takes it: with names and without lines.
fn profile() -> Profile {
    let address = hot_function as fn(u64) -> u64 as usize as u64;
    let mut builder = builder();
    builder.add(&[address + 1], Labels::default(), 5);
    let modules = LoadedModules::current().expect("Linux tells");
    builder.finish(&modules, Names::SymbolTable, None)
}

fn save(profile: &Profile, path: &Path) {
    let mut file = File::create(path).expect("create");
    profile.encode_gz(&mut file).expect("write");
}

/// The file and the line of the hot function, as `top` knows them.
fn line(path: &Path, more: &[&str]) -> Option<(String, i64)> {
    let path = path.to_str().expect("UTF-8");
    let arguments = ["top", "--lines", "--json", path];
    let report = printed(arguments.iter().chain(more));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["tables"][0]["rows"].as_array().expect("rows");
    let hot = rows.iter().find(|it| {
        let name = it["function"].as_str().unwrap_or_default();
        name.ends_with("hot_function")
    });
    let hot = hot.expect("it was sampled");
    Some((hot["file"].as_str()?.to_owned(), hot["line"].as_i64()?))
}

#[test]
fn a_binary_that_is_still_there_tells_lines_unless_it_is_not_asked() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("own.pb.gz");
    save(&profile(), &path);
    assert_eq!(line(&path, &["--no-local-binaries"]), None);
    let (file, line) = line(&path, &[]).expect("it is still there");
    assert!(file.ends_with("symbolizing.rs"), "{file}");
    assert!((15..=20).contains(&line), "{line}");
}

#[test]
fn a_binary_of_the_same_build_is_used_wherever_it_is() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("own.pb.gz");
    let mut message = profile().into_message();
    let filename = message.mapping[0].filename as usize;
    message.string_table[filename] = "/gone/service".to_owned();
    save(&Profile::from_message(message).expect("coherent"), &path);
    assert_eq!(line(&path, &[]), None);

    let own = std::env::current_exe().expect("it has a path");
    let symbolized = directory.path().join("symbolized.pb.gz");
    let output = tachograph(["symbolize"])
        .args([
            &path,
            Path::new("--binary"),
            &own,
            Path::new("-o"),
            &symbolized,
        ])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", complaint(&output));
    let (file, _) = line(&symbolized, &[]).expect("it is told now");
    assert!(file.ends_with("symbolizing.rs"), "{file}");
}

#[test]
fn a_binary_of_another_build_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("own.pb.gz");
    let mut message = profile().into_message();
    let build_id = message.mapping[0].build_id as usize;
    message.string_table[build_id] = "c0ffee".to_owned();
    save(&Profile::from_message(message).expect("coherent"), &path);
    assert_eq!(line(&path, &[]), None, "not even by itself");

    let own = std::env::current_exe().expect("it has a path");
    let out = directory.path().join("symbolized.pb.gz");
    let output = tachograph(["symbolize"])
        .args([&path, Path::new("--binary"), &own, Path::new("-o"), &out])
        .output()
        .expect("it runs");
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("its build id is"), "{said}");
    assert!(said.contains("the profile is of c0ffee"), "{said}");
    assert!(!out.exists());
}

/// Looked up now or in the process: the same frames.
#[test]
fn a_binary_on_disk_tells_what_the_process_could_have_told() {
    let modules = LoadedModules::current().expect("Linux tells");
    let main = modules.main();
    let text = main.segments()[0];
    let profile = |names| {
        let mut builder = builder();
        for address in (text.start..text.end).step_by(4_999).take(300) {
            builder.add(&[address], Labels::default(), 1);
        }
        builder.finish(&modules, names, None)
    };
    let binary = Binary::open(main.path()).expect("it is there");
    assert_eq!(Some(binary.build_id()), main.build_id());
    let binary = Rc::new(RefCell::new(binary));
    let (later, outcome) = profile(Names::SymbolTable)
        .symbolized(|mapping| (mapping.build_id() == main.build_id()).then(|| Rc::clone(&binary)));
    assert!(outcome.located > 100, "{outcome:?}");
    assert_eq!(outcome.problems, []);
    let frames = |profile: &Profile| -> Vec<Vec<String>> {
        let frames = profile.samples().map(|sample| {
            let frames = sample.frames().map(|it| {
                let name = it.function().split(" (").next().unwrap_or_default();
                format!("{name} {:?} {:?}", it.file(), it.line())
            });
            frames.collect()
        });
        frames.collect()
    };
    assert_eq!(frames(&later), frames(&profile(Names::Debug)));
}
