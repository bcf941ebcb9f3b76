//! The process that is killed: it records two captures for real.

use std::mem;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tachograph::{End, Policy, State};
use tachograph_storage_posix::seam;

use crate::killer::{Killer, Sabotage, Scope};
use crate::made::MadeSampler;

const DIRECTORY: &str = "TACHOGRAPH_TEST_LIFE_DIRECTORY";
const SETTINGS: &str = "TACHOGRAPH_TEST_LIFE_SETTINGS";

/// How a process lives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    pub(crate) scope: Scope,
    pub(crate) sabotage: Sabotage,
    /// Whether it samples itself; else its profiles are made up.
    pub(crate) has_real_sampler: bool,
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// It was killed at its moment.
    Killed,
    /// It was over before that.
    OfAge,
}

impl Life {
    /// Lives in a process of its own on `directory`, until the moment `at`.
    ///
    /// # Panics
    ///
    /// If it ends in any other way.
    pub(crate) fn killed_at(self, at: usize, directory: &Path) -> Death {
        let program = std::env::current_exe().expect("this program");
        let sabotage = Sabotage::ALL.iter().position(|it| *it == self.sabotage);
        let scope = Scope::ALL.iter().position(|it| *it == self.scope);
        let settings = [
            at,
            scope.expect("it is one of all"),
            sabotage.expect("it is one of all"),
            usize::from(self.has_real_sampler),
        ];
        let life = Command::new(program)
            .args([
                "at_every_moment",
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(DIRECTORY, directory)
            .env(SETTINGS, settings.map(|it| it.to_string()).join(" "))
            .output()
            .expect("it starts");
        match (life.status.signal(), life.status.success()) {
            (Some(libc::SIGKILL), _) => Death::Killed,
            (None, true) => Death::OfAge,
            _ => panic!(
                "{:?} at moment {at} of {self:?}: {}{}",
                life.status,
                String::from_utf8_lossy(&life.stdout),
                String::from_utf8_lossy(&life.stderr)
            ),
        }
    }
}

/// Whether this process is one that lives.
pub(crate) fn is_one() -> bool {
    std::env::var_os(DIRECTORY).is_some()
}

/// Lives.
pub(crate) fn live() {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).expect("this is a life"));
    let settings = std::env::var(SETTINGS).expect("this is a life");
    let settings: Vec<usize> = settings
        .split(' ')
        .map(|it| it.parse().expect("a number"))
        .collect();
    let [at, scope, sabotage, has_real_sampler] = settings[..] else {
        panic!("{settings:?} are not the settings of a life");
    };
    let (scope, sabotage) = (Scope::ALL[scope], Sabotage::ALL[sabotage]);
    let killer = Arc::new(Killer::new(Some(at), scope, sabotage));

    let _installed = seam::install(killer.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        // Those for blocking work among them.
        .on_thread_start(move || mem::forget(seam::install(killer.clone())))
        .build()
        .expect("built");
    let policy = Policy::builder()
        .capture_length(Duration::from_millis(10))
        .cooldown(Policy::COOLDOWN_MIN)
        .build()
        .expect("valid");
    let builder = tachograph::builder()
        .directory(directory)
        .until(tachograph_tests::in_an_hour())
        .policy(policy);
    let builder = match has_real_sampler {
        0 => builder.sampler(MadeSampler),
        _ => builder,
    };
    runtime.block_on(async {
        let recorder = builder.start(tachograph::tokio()).expect("it starts");
        while recorder.status().captures < 2 && !matches!(recorder.status().state, State::Ended(_))
        {
            recorder.request("again").expect("a good reason");
            std::hint::black_box((0..10_000_u64).fold(0, |a, b| a ^ b));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        recorder.stop().await;
        assert_eq!(recorder.status().state, State::Ended(End::Stopped));
    });
}
