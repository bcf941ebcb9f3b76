//! Who is measured, and whether they are here.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{go, perf};
use crate::workload::Failure;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The workload alone.
    Nothing,
    /// The project's sampler for Linux.
    Linux,
    /// The same where timers are refused, so that it has perf events instead. It
    /// has no column.
    LinuxEvents,
    /// The project's portable sampler.
    Pprof,
    /// The bare `pprof` crate.
    Crate,
    /// Go's `runtime/pprof`, on an equal program.
    Go,
    /// `perf record`, on the workload.
    Perf,
}

impl Subject {
    /// The columns of the table, from left to right.
    pub(crate) const COLUMNS: [Self; 5] =
        [Self::Linux, Self::Pprof, Self::Crate, Self::Go, Self::Perf];

    /// How it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Linux => "sampler-linux",
            Self::LinuxEvents => "sampler-linux by perf events",
            Self::Pprof => "sampler-pprof",
            Self::Crate => "pprof crate",
            Self::Go => "Go",
            Self::Perf => "perf record",
        }
    }
}

/// What is there to run.
pub(crate) struct Subjects {
    /// This program.
    pub(crate) own: PathBuf,
    peers: BTreeMap<Subject, Result<PathBuf, String>>,
}

impl Subjects {
    /// Builds the peers. One that cannot be built is missing, with the reason.
    ///
    /// # Errors
    ///
    /// If this program does not know where it is.
    pub(crate) fn find() -> Result<Self, Failure> {
        let directory = peers_directory()?;
        fs::create_dir_all(&directory)?;
        let peers = BTreeMap::from([
            (Subject::Crate, build_crate(&directory)),
            (Subject::Go, go::build(&directory)),
            (Subject::Perf, perf::find(&directory)),
        ]);
        Ok(Self {
            own: env::current_exe()?,
            peers,
        })
    }

    /// The program to run for `subject`.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn program(&self, subject: Subject) -> Result<&Path, Failure> {
        match self.peers.get(&subject) {
            None => Ok(&self.own),
            Some(Ok(path)) => Ok(path),
            Some(Err(reason)) => Err(reason.clone().into()),
        }
    }

    /// Who is not here, and why.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (Subject, &str)> {
        self.peers.iter().filter_map(|(subject, found)| {
            let reason = found.as_ref().err()?;
            Some((*subject, reason.as_str()))
        })
    }
}

/// Where peers are built: in the target directory.
pub(crate) fn peers_directory() -> Result<PathBuf, Failure> {
    let own = env::current_exe()?;
    let target = own.ancestors().nth(2).ok_or("no target directory")?;
    Ok(target.join("bench-peers"))
}

/// The sources of the peers.
pub(super) fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn build_crate(directory: &Path) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--manifest-path",
        ])
        .arg(sources().join("peer-pprof/Cargo.toml"))
        .arg("--target-dir")
        .arg(directory);
    succeed(&mut command)?;
    Ok(directory.join("release/peer-pprof"))
}

/// Runs a command to its end, and returns what it printed.
pub(super) fn succeed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{program} does not run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    Err(format!("{program}: {}", last.unwrap_or("failed")))
}
