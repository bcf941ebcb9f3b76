//! Files that were made to do harm, and pipes that are closed early.

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use common::{complaint, data, printed, recorded, skipped, tachograph};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use tachograph_profile::proto;

fn write(directory: &Path, name: &str, message: &proto::Profile) -> String {
    let path = directory.join(name);
    fs::write(&path, message.encode_to_vec()).expect("write");
    path.to_str().expect("UTF-8").to_owned()
}

/// A profile of one function of that name, with one sample that is labelled so.
fn profile_of(name: &str) -> proto::Profile {
    let texts = ["", "cpu", "nanoseconds", "task", name];
    proto::Profile {
        sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }],
        sample: vec![proto::Sample {
            location_id: vec![1],
            value: vec![1_000_000],
            label: vec![proto::Label {
                key: 3,
                str: 4,
                ..Default::default()
            }],
        }],
        location: vec![proto::Location {
            id: 1,
            line: vec![proto::Line {
                function_id: 1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        function: vec![proto::Function {
            id: 1,
            name: 4,
            ..Default::default()
        }],
        string_table: texts.map(str::to_owned).to_vec(),
        ..Default::default()
    }
}

#[test]
fn nothing_in_a_profile_reaches_the_terminal_or_the_page_as_more_than_text() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let name = "\x1b]0;owned\x07<script>alert(1)</script>\u{202e};\n\"&";
    let path = write(directory.path(), "it.pb", &profile_of(name));
    for arguments in [
        &["top", "--by", "task"][..],
        &["tree", "--by", "task"],
        &["convert", "--to", "folded"],
        &["convert", "--to", "speedscope"],
        &["convert", "--to", "firefox"],
        &["flame", "--by", "task"],
    ] {
        let shown = printed(arguments.iter().chain([&path.as_str()]));
        let is_safe = |it: char| it == '\n' || !it.is_control() && it != '\u{202e}';
        // JSON is not for terminals, and may have the one that turns the direction.
        let is_json = shown.starts_with('{');
        assert!(
            shown
                .chars()
                .all(|it| is_safe(it) || is_json && it == '\u{202e}'),
            "{arguments:?}: {shown:?}"
        );
        if arguments[0] == "flame" {
            assert!(!shown.contains("<script>alert"), "{shown}");
            assert!(shown.contains("&lt;script&gt;alert"), "{shown}");
        }
        if arguments.contains(&"folded") {
            assert_eq!(shown.lines().count(), 1, "{shown:?}");
        }
    }
}

#[test]
fn a_bomb_is_refused_in_one_line_member_by_member() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut member = GzEncoder::new(Vec::new(), Compression::best());
    member
        .write_all(&vec![0; 1 << 20])
        .and_then(|()| member.flush())
        .expect("a vector takes everything");
    let member = member.finish().expect("a vector takes everything");
    let path = directory.path().join("bomb.pb.gz");
    // Each is within the bounds, and all together are not.
    fs::write(&path, member.repeat(513)).expect("write");
    let output = tachograph(["top"]).arg(&path).output().expect("it runs");
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("bomb.pb.gz: the profile has more than the"),
        "{said}"
    );
}

#[test]
fn many_inlined_calls_at_one_place_do_not_multiply() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut message = profile_of("f");
    message.location[0].line = vec![message.location[0].line[0]; 100_000];
    let sample = message.sample[0].clone();
    message.sample = vec![sample; 20_000];
    let path = write(directory.path(), "multiplied.pb", &message);
    let output = tachograph(["top", &path]).output().expect("it runs");
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("the stacks have 2000000000 frames together"),
        "{said}"
    );
}

#[test]
fn short_names_that_stand_for_long_ones_do_not_multiply() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Tuples of twice the same, 24 deep: a megabyte each.
    let digits = "89abcdefghijklmnopqrstuv";
    let back: String = digits.chars().rev().map(|it| format!("B{it}_E")).collect();
    let tuples = format!("{}h{back}", "T".repeat(24));
    let mut message = profile_of("f");
    for number in 0..20 {
        message
            .string_table
            .push(format!("_RMC5c{number:04}{tuples}"));
        message.function.push(proto::Function {
            id: 2 + number,
            name: 5 + number as i64,
            ..Default::default()
        });
        message.location[0].line.push(proto::Line {
            function_id: 2 + number,
            ..Default::default()
        });
    }
    let path = write(directory.path(), "expanded.pb", &message);
    for arguments in [
        &["top", "-n", "0"][..],
        &["tree", "--min", "0"],
        &["tree", "--full-names"],
        &["convert", "--to", "folded"],
        &["convert", "--to", "speedscope"],
        &["convert", "--to", "firefox"],
    ] {
        let shown = printed(arguments.iter().chain([&path.as_str()]));
        assert!(shown.len() < 100_000, "{arguments:?}: {}", shown.len());
    }
}

#[test]
fn absurd_numbers_are_added_up_without_harm() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut message = profile_of("f");
    message.sample[0].value = vec![i64::MAX];
    message.sample.push(message.sample[0].clone());
    message.sample.push(proto::Sample {
        value: vec![i64::MIN],
        ..message.sample[0].clone()
    });
    message.time_nanos = i64::MIN;
    message.duration_nanos = i64::MIN;
    message.period = i64::MIN;
    message.location[0].id = u64::MAX;
    message.function[0].id = u64::MAX;
    message.location[0].line[0].function_id = u64::MAX;
    message.location[0].line[0].line = i64::MIN;
    for sample in &mut message.sample {
        sample.location_id = vec![u64::MAX];
    }
    message.mapping.push(proto::Mapping {
        id: u64::MAX,
        memory_start: u64::MAX,
        file_offset: u64::MAX,
        ..Default::default()
    });
    message.location[0].mapping_id = u64::MAX;
    let path = write(directory.path(), "absurd.pb", &message);
    let merged = directory.path().join("merged.pb.gz");
    let merged = merged.to_str().expect("UTF-8");
    printed(["merge", &path, &path, "-o", merged]);
    for path in [path.as_str(), merged] {
        printed(["top", path]);
        printed(["top", "--lines", "--json", path]);
        printed(["tree", path]);
        printed(["diff", path, path]);
        printed(["convert", "--to", "firefox", path]);
        printed(["convert", "--to", "speedscope", path]);
    }
}

#[test]
fn deep_brackets_in_a_name_are_only_long() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in [
        "<".repeat(1 << 20),
        "<".repeat(1 << 20) + &">".repeat(1 << 20),
        format!("_R{}", "Nv".repeat(1 << 20)),
    ] {
        let path = write(directory.path(), "deep.pb", &profile_of(&name));
        let shown = printed(["top", &path]);
        assert!(shown.len() < 20_000, "{} bytes", shown.len());
    }
}

#[test]
fn a_pipe_in_a_directory_is_not_waited_for() {
    #[cfg(unix)]
    {
        let directory = recorded("service");
        let pipe = directory.path().join("pipe.pprof");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|it| it.success()) {
            skipped("needs mkfifo");
            return;
        }
        let output = tachograph(["top"]).arg(directory.path()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let said = complaint(&output);
        assert!(
            said.contains("pipe.pprof: this is not a regular file"),
            "{said}"
        );
        assert!(output.stdout.starts_with(b"cpu: "));
    }
}

#[test]
fn whoever_closes_a_pipe_has_seen_enough() {
    for arguments in [
        &["top", "-n", "0"][..],
        &["tree"],
        &["flame"],
        &["merge"],
        &["convert", "--to", "folded"],
        &["convert", "--to", "speedscope"],
        &["convert", "--to", "firefox"],
    ] {
        let mut child = tachograph(arguments)
            .arg(data("foreign/go-heap.pb.gz"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut said).expect("UTF-8");
        assert!(
            child.wait().expect("it ends").success(),
            "{arguments:?}: {said}"
        );
        assert_eq!(said, "", "{arguments:?}");
    }
}

#[test]
fn a_profile_goes_through_a_pipe_unharmed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let saved = directory.path().join("merged.pb.gz");
    let profiles = [data("service"), data("service_smol")];
    let merge = |out: &Path| {
        let output = tachograph(["merge", "-o"])
            .arg(out)
            .args(&profiles)
            .output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", complaint(&output));
        output.stdout
    };
    assert_eq!(merge(&saved), b"");
    assert_eq!(
        merge(Path::new("-")),
        fs::read(&saved).expect("it was saved")
    );
}

#[test]
fn colours_are_for_terminals() {
    let profile = data("foreign/go-heap.pb.gz");
    let profile = profile.to_str().expect("UTF-8");
    let with = |key: &str| {
        let output = tachograph(["top", profile]).env(key, "1").output();
        output.expect("it runs").stdout.contains(&0x1b)
    };
    assert!(!with("TERM"));
    assert!(with("CLICOLOR_FORCE"));
    let output = tachograph(["top", profile])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn standard_input_is_a_file() {
    let bytes = fs::read(data("foreign/go-heap.pb.gz")).expect("it is committed");
    let mut child = tachograph(["top", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&bytes).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(shown.starts_with("inuse_space: "), "{shown}");
}

#[test]
fn the_manual_and_completions_know_all_commands() {
    let manual = printed(["manual"]);
    let completions = printed(["completions", "bash"]);
    for command in [
        "list",
        "top",
        "tree",
        "flame",
        "diff",
        "merge",
        "symbolize",
        "convert",
        "verify",
    ] {
        assert!(
            manual.contains(&format!("tachograph\\-{command}(1)")),
            "{command}"
        );
        assert!(
            completions.contains(&format!("tachograph,{command})")),
            "{command}"
        );
    }
    let page = printed(["manual", "top"]);
    assert!(page.contains("tachograph\\-top"), "{page}");
    assert!(page.contains("\\-\\-full\\-names"), "{page}");
    let output = tachograph(["manual", "nothing"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

/// What a command shows on a terminal of that many columns; `None` if there is no tool
/// to make one.
#[cfg(unix)]
fn on_terminal(columns: usize, arguments: &str) -> Option<String> {
    let binary = env!("CARGO_BIN_EXE_tachograph");
    let output = std::process::Command::new("script")
        .args([
            "-qec",
            &format!("stty cols {columns} rows 24; {binary} {arguments}"),
            "/dev/null",
        ])
        .stdin(Stdio::null())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8(output.stdout).expect("UTF-8"))
        }
        _ => {
            skipped("needs script, of util-linux");
            None
        }
    }
}

#[cfg(unix)]
#[test]
fn tables_fit_the_terminal() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let name = format!("demo::{}", "very_long_".repeat(20));
    let mut message = profile_of(&name);
    let path = write(directory.path(), "long.pb", &message);
    message.sample[0].value[0] += 1_000_000;
    let slower = write(directory.path(), "slower.pb", &message);
    for command in ["top", "tree", "diff -n 1"] {
        let arguments = match command {
            "diff -n 1" => format!("{command} {path} {slower}"),
            _ => format!("{command} {path}"),
        };
        let Some(shown) = on_terminal(60, &arguments) else {
            return;
        };
        assert!(shown.contains("demo::very_"), "{command}: {shown:?}");
        assert!(shown.contains('…'), "{command}: {shown:?}");
        let row = shown
            .lines()
            .find(|it| it.contains("demo::"))
            .expect("it is there");
        let plain = anstream::adapter::strip_str(row.trim_end()).to_string();
        assert!(plain.chars().count() <= 60, "{command}: {plain:?}");
    }
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_written_to_and_never_replaced() {
    use std::os::unix::fs::FileTypeExt as _;

    let directory = tempfile::tempdir().expect("a temporary directory");
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).expect("a link");
    let profile = data("foreign/go-cpu.pb.gz");
    let profile = profile.to_str().expect("UTF-8");
    for force in [None, Some("--force")] {
        for path in [&pipe, &link] {
            let child = tachograph(["convert", "--to", "folded", profile, "-o"])
                .arg(path)
                .args(force)
                .stderr(Stdio::piped())
                .spawn()
                .expect("it runs");
            let read = fs::read_to_string(&pipe).expect("it is written to");
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", complaint(&output));
            assert_eq!(read, printed(["convert", "--to", "folded", profile]));
        }
    }
    assert!(
        fs::metadata(&pipe)
            .expect("it is there")
            .file_type()
            .is_fifo()
    );
    assert!(
        fs::symlink_metadata(&link)
            .expect("it is there")
            .is_symlink()
    );
    // A file behind a link is not written to: the link is replaced.
    let file = directory.path().join("file");
    fs::write(&file, "mine").expect("write");
    let link = directory.path().join("link to a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let output = tachograph(["convert", "--to", "folded", profile, "--force", "-o"])
        .arg(&link)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "mine");
    assert!(fs::symlink_metadata(&link).expect("it is there").is_file());
}

#[cfg(unix)]
#[test]
fn what_only_looks_like_a_profile_in_a_directory_is_named_and_not_read() {
    let directory = recorded("service");
    std::os::unix::fs::symlink(
        data("foreign/go-cpu.pb.gz"),
        directory.path().join("a.pprof"),
    )
    .expect("a link");
    let output = tachograph(["top", "-n", "1"])
        .arg(directory.path())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = complaint(&output);
    assert!(
        said.contains("a.pprof: this is not a regular file"),
        "{said}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("in 3 profiles"));
}

#[test]
fn a_binary_is_opened_once_whatever_builds_it_is_said_to_be() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut message = profile_of("it");
    let binary = env!("CARGO_BIN_EXE_tachograph");
    message.string_table.push(binary.to_owned());
    let filename = message.string_table.len() as i64 - 1;
    for number in 1..=20_000 {
        message.string_table.push(format!("{number:040x}"));
        message.mapping.push(proto::Mapping {
            id: number,
            filename,
            build_id: message.string_table.len() as i64 - 1,
            ..Default::default()
        });
    }
    let path = write(directory.path(), "it.pb", &message);
    // It would take hours.
    assert!(printed(["top", &path]).contains("it"));
}

#[test]
fn what_is_asked_for_by_name_and_not_there_is_said() {
    let service = data("service");
    let service = service.to_str().expect("UTF-8");
    for (arguments, expected) in [
        (
            &["top", "--task", "nope"][..],
            "no sample has the task nope; there is checksum, compaction",
        ),
        (
            &["tree", "--thread", "nope"],
            "no sample has the thread nope; there is tachograph, tokio-rt-worker",
        ),
        (
            &["top", "--by", "nope"],
            "no sample has a label nope; there is task, thread",
        ),
        (
            &["convert", "--to", "folded", "--by", "nope"],
            "no sample has a label nope; there is task, thread",
        ),
        (
            &["list", "--reason", "nope"],
            "no capture was taken for the reason nope; there is compaction, periodic",
        ),
    ] {
        let output = tachograph(arguments.iter().chain(&[service])).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = complaint(&output);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn standard_input_counts_once() {
    let profile = fs::File::open(data("foreign/go-cpu.pb.gz")).expect("it is committed");
    let output = tachograph(["top", "-n", "1", "-", "-"])
        .stdin(profile)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = complaint(&output);
    assert_eq!(
        said,
        "tachograph: -: standard input was read already; name it once\n"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("in 1 profile\n"));
}
