//! What happens when the system has no descriptors left for async-io. Alone in
//! its process: both the limit and async-io's state belong to all of it.
#![cfg(unix)]

use rustix::process::{Resource, getrlimit, setrlimit};
use tachograph_core::{ErrorKind, Runtime};

#[test]
fn without_descriptors_connecting_is_an_error_not_a_panic() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(0);
    setrlimit(Resource::Nofile, limit).expect("lowering a limit is allowed");

    let error = tachograph_smol::smol()
        .connect()
        .expect_err("there is no descriptor left");
    assert_eq!(error.kind(), ErrorKind::NoRuntime);
}
