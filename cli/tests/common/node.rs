//! Scripts that ask other viewers what they see.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The oldest Node that the packages work with.
const NODE_MAJOR_MIN: u32 = 20;

/// Runs a script of the tests' folder, which drives a browser and prints JSON; `None`, said
/// aloud, where the tools are not there.
pub(crate) fn in_browser(script: &str, arguments: &[&OsStr]) -> Option<Value> {
    let chromium = std::env::var_os("CHROMIUM").map_or("/usr/bin/chromium".into(), PathBuf::from);
    if !chromium.exists() {
        skipped(script, "there is no chromium; CHROMIUM may say where it is");
        return None;
    }
    let chromium = ("CHROMIUM", chromium.as_os_str());
    node(script, "playwright-core", chromium, arguments)
}

/// Runs a script of the tests' folder, which needs a package and prints JSON; `None`, said
/// aloud, where the tools are not there.
pub(crate) fn node(
    script: &str,
    package: &str,
    (variable, value): (&str, &OsStr),
    arguments: &[&OsStr],
) -> Option<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    if node_major().is_none_or(|it| it < NODE_MAJOR_MIN) {
        skipped(
            script,
            &format!("there is no Node {NODE_MAJOR_MIN} or later"),
        );
        return None;
    }
    if !tests.join("node_modules").join(package).exists() {
        let why = format!("{package} is not installed; `npm ci` in cli/tests installs it");
        skipped(script, &why);
        return None;
    }
    let output = Command::new("node")
        .arg(tests.join(script))
        .args(arguments)
        .env(variable, value)
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    let printed = String::from_utf8(output.stdout).expect("text");
    Some(serde_json::from_str(&printed).unwrap_or(Value::Null))
}

/// `20` of `v20.20.2`.
fn node_major() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Past the test's capture, so that it is seen.
fn skipped(script: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {script}: {why}");
}
