//! Scripts that drive a browser.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Runs a script of the tests' folder in Node, which prints JSON; `None`, said aloud, where
/// the tools are not there.
pub(crate) fn node(script: &str, arguments: &[&OsStr]) -> Option<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let chromium = std::env::var_os("CHROMIUM").map_or("/usr/bin/chromium".into(), PathBuf::from);
    let missing = if Command::new("node").arg("--version").output().is_err() {
        "there is no node"
    } else if !tests.join("node_modules/playwright-core").exists() {
        "playwright-core is not installed; `npm ci` in cli/tests installs it"
    } else if !chromium.exists() {
        "there is no chromium; CHROMIUM may say where it is"
    } else {
        let output = Command::new("node")
            .arg(tests.join(script))
            .args(arguments)
            .env("CHROMIUM", chromium)
            .output()
            .expect("node runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
        let printed = String::from_utf8(output.stdout).expect("text");
        return Some(serde_json::from_str(&printed).unwrap_or(Value::Null));
    };
    // Past the test's capture, so that it is seen.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {script}, in a browser: {missing}"
    );
    None
}
