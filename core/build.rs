//! Notes which compiler builds the service, for the sidecar's `RustVersion`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    #[allow(
        clippy::disallowed_methods,
        reason = "a build script is told by its environment"
    )]
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        // "rustc 1.95.0 (59807616e 2026-04-14)": the second word.
        .and_then(|text| text.split_whitespace().nth(1).map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TACHOGRAPH_RUST_VERSION={version}");
}
