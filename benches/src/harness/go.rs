//! The peer in Go.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::subjects::{sources, succeed};

/// The go command: that of the environment, or that in `PATH`.
pub(super) fn command() -> OsString {
    env::var_os("TACHOGRAPH_TEST_GO").unwrap_or_else(|| "go".into())
}

/// Which Go it is, if it is there.
pub(super) fn version() -> Option<String> {
    let version = succeed(Command::new(command()).arg("version")).ok()?;
    Some(version.trim().to_owned())
}

/// Builds the peer.
pub(super) fn build(directory: &Path) -> Result<PathBuf, String> {
    let program = directory.join("peer-go");
    let mut build = Command::new(command());
    build
        .env("CGO_ENABLED", "0")
        .env("GOCACHE", directory.join("go-cache"))
        .env("GOTOOLCHAIN", "local")
        .current_dir(sources())
        .args(["build", "-o"])
        .arg(&program)
        .arg("peer-go/main.go");
    succeed(&mut build)?;
    Ok(program)
}
