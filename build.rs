//! Links the examples with a build id, so that their captures name the binary
//! that ran. What a service's own binary is linked with is its own affair.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-examples=-Wl,--build-id=sha1");
    }
}
