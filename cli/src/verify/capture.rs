//! Whether a capture's two parts fit each other and the time they tell of.

use sha2::{Digest as _, Sha256};
use tachograph_core::store::CaptureName;
use tachograph_core::{Name, Sidecar};
use tachograph_profile::Profile;

use super::Finding;
use super::directory::Directory;
use crate::input::{self, SIDECAR_BYTES_MAX, bounded};
use crate::progress::Progress;
use crate::sidecar::Verdict;

/// The largest profile that a recorder can be told to write.
const PROFILE_BYTES_MAX: u64 = 64 << 20;

pub(super) fn findings(directory: &Directory) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before: Option<(CaptureName, Sidecar)> = None;
    let progress = Progress::of(directory.complete().count());
    for name in directory.complete() {
        match sidecar(directory, name) {
            Ok(sidecar) => {
                let own = of_sidecar(name, &sidecar, before.as_ref());
                findings.extend(own.into_iter().map(|it| Finding::new(name.sidecar(), it)));
                let own = of_profile(directory, name, &sidecar);
                findings.extend(own.into_iter().map(|it| Finding::new(name.profile(), it)));
                before = Some((name, sidecar));
            }
            Err(problem) => {
                findings.push(Finding::new(name.sidecar(), problem));
                let profile = read(directory, name).and_then(|it| input::decoded(&it));
                if let Err(problem) = profile {
                    findings.push(Finding::new(name.profile(), problem));
                }
            }
        }
        progress.advance();
    }
    findings
}

fn sidecar(directory: &Directory, name: CaptureName) -> Result<Sidecar, String> {
    let json = bounded(&directory.path.join(name.sidecar()), SIDECAR_BYTES_MAX)?;
    Sidecar::from_json(&json).map_err(|error| format!("{error:#}"))
}

/// What the sidecar says of itself.
fn of_sidecar(
    name: CaptureName,
    sidecar: &Sidecar,
    before: Option<&(CaptureName, Sidecar)>,
) -> Vec<String> {
    let mut findings = Vec::new();
    if sidecar.started_at.system_time() != name.start() {
        findings.push(format!(
            "it says that the capture started at {}; its name says otherwise",
            sidecar.started_at
        ));
    }
    if sidecar.finished_at < sidecar.started_at {
        findings.push(format!(
            "the capture finished at {}, before it started",
            sidecar.finished_at
        ));
    }
    if sidecar.started_at >= sidecar.until {
        findings.push(format!(
            "the capture started after the deadline, {}",
            sidecar.until
        ));
    }
    if sidecar.reason != "periodic"
        && let Err(error) = Name::new(&sidecar.reason)
    {
        findings.push(format!("its reason is none: {error:#}"));
    }
    if let Some((earlier, other)) = before
        && other.finished_at > sidecar.started_at
    {
        findings.push(format!(
            "the capture started before the one of {} was finished",
            earlier.profile()
        ));
    }
    match Verdict::of(sidecar) {
        Verdict::Hollow => findings.push("CPU time was used, and there is no sample".to_owned()),
        Verdict::Covers(share) => findings.push(format!(
            "the samples stand for {:.0} % of the CPU time that was used",
            100.0 * share
        )),
        Verdict::True | Verdict::Idle | Verdict::Unknown => {}
    }
    findings
}

/// Whether the profile is what the sidecar says.
fn read(directory: &Directory, name: CaptureName) -> Result<Vec<u8>, String> {
    bounded(&directory.path.join(name.profile()), PROFILE_BYTES_MAX)
}

fn of_profile(directory: &Directory, name: CaptureName, sidecar: &Sidecar) -> Vec<String> {
    let bytes = match read(directory, name) {
        Ok(bytes) => bytes,
        Err(problem) => return vec![problem],
    };
    let mut findings = Vec::new();
    if bytes.len() as u64 != sidecar.bytes {
        findings.push(format!(
            "it has {} bytes; the sidecar says {}",
            bytes.len(),
            sidecar.bytes
        ));
    }
    let sum = Sha256::digest(&bytes);
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    if sum != sidecar.sha256 {
        findings.push(format!(
            "its SHA-256 is {sum}; the sidecar says {}",
            sidecar.sha256
        ));
    }
    match input::decoded(&bytes) {
        Ok(profile) => findings.extend(of_content(&profile, sidecar)),
        Err(problem) => findings.push(problem),
    }
    findings
}

fn of_content(profile: &Profile, sidecar: &Sidecar) -> Vec<String> {
    let mut findings = Vec::new();
    let types: Vec<_> = profile.sample_types().collect();
    if types != [("samples", "count"), ("cpu", "nanoseconds")] {
        findings.push(format!(
            "its sample types are {types:?}, and not samples/count and cpu/nanoseconds"
        ));
        return findings;
    }
    let count = profile.total("samples").unwrap_or(0);
    if u64::try_from(count) != Ok(sidecar.samples) {
        findings.push(format!(
            "it has {count} samples; the sidecar says {}",
            sidecar.samples
        ));
    }
    let period = 1_000_000_000_i64
        .checked_div(i64::from(sidecar.sampler.frequency_hz))
        .unwrap_or(0);
    if profile.tables().period != period {
        findings.push(format!(
            "its period is {} ns; at {} Hz it is {period}",
            profile.tables().period,
            sidecar.sampler.frequency_hz
        ));
    }
    let build_id = profile.mappings().next().and_then(|it| it.build_id());
    let expected = sidecar.executable.as_ref().map(|it| it.build_id.as_str());
    if build_id != expected {
        findings.push(format!(
            "it is of the build {}; the sidecar says {}",
            build_id.unwrap_or("without an id"),
            expected.unwrap_or("that it has none")
        ));
    }
    if let Some(coverage) = &sidecar.coverage {
        let by_task = profile.by_label("task", "samples");
        let unlabelled = by_task.get(&None).copied().unwrap_or(0);
        if u64::try_from(unlabelled) != Ok(coverage.unlabelled) {
            findings.push(format!(
                "{unlabelled} samples have no task; the sidecar says {}",
                coverage.unlabelled
            ));
        }
    }
    findings
}
