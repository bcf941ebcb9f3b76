//! What the commands print about small committed captures and profiles.
//!
//! With `TACHOGRAPH_UPDATE_TRANSCRIPTS=1` the expected output is written anew.

mod common;

use std::fs;
use std::path::Path;

use common::{recorded, set_mode, tachograph};
use tempfile::TempDir;

/// A directory with copies of all that is committed, and some files that are bad.
fn workshop() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["service", "service_smol", "foreign"] {
        let copy = recorded(name);
        let place = directory.path().join(name);
        fs::create_dir(&place).expect("create");
        set_mode(&place, 0o700);
        for entry in fs::read_dir(copy.path()).expect("it was just made") {
            let entry = entry.expect("an entry");
            let moved = place.join(entry.file_name());
            fs::rename(entry.path(), moved).expect("both are temporary");
        }
    }
    let good = fs::read(directory.path().join("foreign/go-heap.pb.gz")).expect("it was copied");
    let bad = directory.path().join("bad");
    fs::create_dir(&bad).expect("create");
    for (name, bytes) in [
        ("1-empty.pprof", &b""[..]),
        ("2-cut.pprof", &good[..good.len() / 2]),
        ("3-text.pprof", b"this is not a profile"),
        ("4-good.pprof", &good),
        ("5-\x1b[31mred.pprof", b"\x1f\x8b\x08"),
    ] {
        fs::write(bad.join(name), bytes).expect("write");
    }
    directory
}

/// Runs each line of `commands` there, and compares all that is printed with what is
/// committed under `name`.
fn transcript(name: &str, commands: &[&str]) {
    let workshop = workshop();
    let shown = run(workshop.path(), commands);
    let path = format!("tests/transcripts/{name}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("TACHOGRAPH_UPDATE_TRANSCRIPTS").is_some() {
        fs::write(&path, &shown).expect("write");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shown == expected,
        "{} is not what was printed:\n{shown}",
        path.display()
    );
}

fn run(directory: &Path, commands: &[&str]) -> String {
    let mut shown = String::new();
    for command in commands {
        let output = tachograph(command.split_whitespace())
            .current_dir(directory)
            .output()
            .expect("it runs");
        shown.push_str(&format!("$ tachograph {command}\n"));
        shown.push_str(&String::from_utf8(output.stdout).expect("UTF-8"));
        shown.push_str(&String::from_utf8(output.stderr).expect("UTF-8"));
        match output.status.code() {
            Some(0) => {}
            Some(status) => shown.push_str(&format!("[exit status {status}]\n")),
            None => shown.push_str("[killed]\n"),
        }
        shown.push('\n');
    }
    shown
}

/// The README's examples are run like all others.
#[test]
fn readme() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("it is committed");
    let workshop = workshop();
    let mut shown = String::new();
    let mut examples = 0;
    for (number, part) in readme.split("```").enumerate() {
        if number > 0 {
            shown.push_str("```");
        }
        match part.strip_prefix("console\n") {
            Some(example) => {
                let commands: Vec<&str> = example
                    .lines()
                    .filter_map(|line| line.strip_prefix("$ tachograph "))
                    .collect();
                examples += commands.len();
                let printed = run(workshop.path(), &commands);
                shown.push_str(&format!("console\n{}\n", printed.trim_end()));
            }
            None => shown.push_str(part),
        }
    }
    assert!(examples >= 10, "{examples}");
    if std::env::var_os("TACHOGRAPH_UPDATE_TRANSCRIPTS").is_some() {
        fs::write(&path, &shown).expect("write");
    } else {
        assert!(
            shown == readme,
            "the README is not what was printed:\n{shown}"
        );
    }
}

#[test]
fn list() {
    transcript(
        "list",
        &[
            "list service",
            "list service --reason compaction",
            "list service --since 2200-01-01T00:00:00Z",
            "list service_smol --json",
            "list nowhere",
            "list service --since yesterday",
        ],
    );
}

#[test]
fn top() {
    transcript(
        "top",
        &[
            "top --no-local-binaries --by task --app -n 4 service",
            "top --no-local-binaries -n 6 service service_smol",
            "top --no-local-binaries --full-names --task compaction --thread tokio-rt-worker -n 4 service",
            "top --lines -n 4 foreign/go-cpu.pb.gz",
            "top --value alloc_objects -n 3 foreign/go-heap.pb.gz",
            "top --focus words --ignore gzip -n 3 foreign/go-cpu.pb.gz",
            "top --json --by task -n 1 foreign/go-cpu.pb.gz",
            "top --value heat foreign/go-cpu.pb.gz",
            "top --focus ( foreign/go-cpu.pb.gz",
        ],
    );
}

#[test]
fn bad_files_are_named_and_the_others_count() {
    transcript(
        "bad-files",
        &[
            "top -n 2 bad",
            "top -n 2 bad/1-empty.pprof nowhere.pprof",
            "merge bad/3-text.pprof bad/4-good.pprof -o merged.pb.gz",
            "list bad",
        ],
    );
}

#[test]
fn tree() {
    transcript(
        "tree",
        &[
            "tree --no-local-binaries --app --by task --min 5 service",
            "tree --callers --min 20 foreign/go-cpu.pb.gz",
            "tree --min 60 --json foreign/go-heap.pb.gz",
            "tree --min 200 foreign/go-heap.pb.gz",
        ],
    );
}

#[test]
fn diff() {
    transcript(
        "diff",
        &[
            "diff --app -n 5 service",
            "diff --app --total -n 3 service_smol service",
            "diff --json foreign/go-threadcreate.pb.gz foreign/go-threadcreate.pb.gz",
            "diff foreign",
            "diff foreign/go-heap.pb.gz foreign/go-cpu.pb.gz",
        ],
    );
}

#[test]
fn merge_and_where_it_may_write() {
    transcript(
        "merge",
        &[
            "merge service -o merged.pb.gz",
            "top --no-local-binaries --app -n 2 merged.pb.gz",
            "merge service -o merged.pb.gz",
            "merge service -o merged.pb.gz --force",
            "merge service -o service/merged.pb.gz",
            "merge service -o service_smol",
            "merge service -o nowhere/merged.pb.gz",
            "merge foreign/go-heap.pb.gz foreign/go-cpu.pb.gz -o other.pb.gz",
        ],
    );
}

#[test]
fn convert() {
    transcript(
        "convert",
        &[
            "convert --to folded foreign/node-heap.pb.gz",
            "convert --to speedscope foreign/go-threadcreate.pb.gz",
            "convert --to pprof --by task service -o all.pb.gz",
            "convert --to pprof --task compaction service -o compaction.pb.gz",
            "top --no-local-binaries --app -n 2 compaction.pb.gz",
            "convert --to chrome service",
        ],
    );
}

#[test]
fn flame() {
    transcript(
        "flame",
        &[
            "flame --no-local-binaries --by task service -o flame.svg",
            "flame --no-local-binaries --task nobody service -o nobody.svg",
            "flame service -o flame.svg",
        ],
    );
}

#[test]
fn report() {
    transcript(
        "report",
        &[
            "report service -o report.html",
            "report service -o report.html",
            "report service -o service/report.html",
            "report service --since yesterday -o never.html",
            "report nowhere -o never.html",
        ],
    );
}

#[test]
fn symbolize() {
    transcript(
        "symbolize",
        &[
            "symbolize foreign/go-cpu.pb.gz --binary foreign/go-cpu.pb.gz -o out.pb.gz",
            "symbolize foreign/go-cpu.pb.gz --binary nowhere -o out.pb.gz",
            "symbolize foreign/go-cpu.pb.gz -o out.pb.gz",
        ],
    );
}

#[test]
fn verify() {
    transcript(
        "verify",
        &[
            "verify service",
            "verify service_smol --entries 4 --bytes 9000",
            "verify nowhere",
        ],
    );
}
