//! Links the tests with a build id: one of them is looked up in a profile of itself.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-tests=-Wl,--build-id=sha1");
    }
}
