//! What both example services share: the service itself, which knows nothing
//! of any runtime, the load that it sends itself, and a look at what was recorded.

pub(crate) mod captures;
pub(crate) mod library;
pub(crate) mod load;

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tachograph::{Builder, DIRECTORY_VARIABLE, Policy, Timestamp};

/// How long the service runs.
pub(crate) const RUN_FOR: Duration = Duration::from_secs(14);

/// How many requests its own client sends, evenly over that time.
pub(crate) const REQUESTS: u32 = 280;

/// A rhythm for a demonstration; the default one is for production.
fn policy() -> Result<Policy, tachograph::Error> {
    Policy::builder()
        .capture_length(Duration::from_secs(4))
        .cooldown(Duration::from_secs(6))
        .interval(Duration::from_secs(60))
        .build()
}

/// The recorder's builder and the directory it will record into: opted in by
/// the environment, or else, since this is a demonstration, by a fresh private
/// directory and a deadline ahead.
pub(crate) fn recorder(service: &str) -> Result<(Builder, PathBuf), Box<dyn Error>> {
    let (builder, directory) = match std::env::var_os(DIRECTORY_VARIABLE) {
        Some(directory) => (tachograph::from_env(), PathBuf::from(directory)),
        None => {
            let directory = captures::fresh_directory(service)?;
            let until = Timestamp::from(SystemTime::now() + 2 * RUN_FOR);
            let builder = tachograph::builder()
                .directory(&directory)
                .until(until.to_string());
            (builder, directory)
        }
    };
    Ok((builder.policy(policy()?).trigger("compaction"), directory))
}

/// Lets other tasks run.
pub(crate) async fn give_way() {
    let mut gave_way = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut gave_way, true) {
            std::task::Poll::Ready(())
        } else {
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    })
    .await;
}
