//! Modes do not depend on the umask, which belongs to a whole process: so each
//! case is one.

#![cfg(unix)]

mod common;

use std::path::Path;

use common::{child_done, mode, name, plays, publish, set_mode};
use rustix::fs::Mode;
use tachograph_core::Store as _;
use tachograph_storage_posix::PosixStore;

const UMASK: &str = "TACHOGRAPH_TEST_UMASK";

/// In octal.
const UMASKS: [&str; 3] = ["0000", "0077", "0777"];

fn under_umask(parent: &Path) {
    let mask = std::env::var(UMASK).expect("the parent says so");
    let mask = u32::from_str_radix(&mask, 8).expect("octal");
    rustix::process::umask(Mode::from_raw_mode(mask));
    let path = parent.join("a/b/profiles");
    let store = PosixStore::open(&path).expect("it can be made");
    for made in ["a", "a/b", "a/b/profiles"] {
        assert_eq!(mode(&parent.join(made)), 0o700, "{made}");
    }
    let staged = store.stage(name(1)).expect("free");
    assert_eq!(
        mode(&path.join(format!("{}.partial", name(1).profile()))),
        0o600
    );
    staged.publish(b"sidecar", b"profile").expect("published");
    publish(&store, name(2));
    for name in [name(1), name(2)] {
        assert_eq!(mode(&path.join(name.profile())), 0o600);
        assert_eq!(mode(&path.join(name.sidecar())), 0o600);
    }
    drop(store);
    let store = PosixStore::open(&path).expect("it can be opened again");
    store.recover().expect("recovered");
    child_done();
}

#[test]
fn as_this_user() {
    if plays(under_umask) {
        return;
    }
    for umask in UMASKS {
        let temporary = common::temporary();
        let mut command = common::child("as_this_user", temporary.path());
        command.env(UMASK, umask);
        common::run(command);
    }
}

#[test]
fn as_somebody_whom_permissions_bind() {
    if plays(under_umask) {
        return;
    }
    for umask in UMASKS {
        let temporary = common::temporary();
        set_mode(temporary.path(), 0o777);
        let test = "as_somebody_whom_permissions_bind";
        let Some(mut command) = common::child_as_nobody(test, temporary.path()) else {
            return;
        };
        command.env(UMASK, umask);
        common::run(command);
    }
}
