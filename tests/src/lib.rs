//! What the end-to-end tests share: reading back what a recorder left.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use tachograph::{Sidecar, Timestamp};
use tachograph_profile::Profile;

/// A deadline an hour ahead.
pub fn in_an_hour() -> String {
    Timestamp::from(SystemTime::now() + Duration::from_secs(3600)).to_string()
}

/// A capture, read back and checked against itself.
#[derive(Debug)]
pub struct Capture {
    /// The name of the profile.
    pub name: String,
    /// The sidecar, as the library reads it.
    pub sidecar: Sidecar,
    /// The sidecar, as anybody reads it.
    pub json: serde_json::Value,
    /// The profile.
    pub profile: Profile,
}

/// All captures in `directory`, in the order of their starts.
///
/// # Panics
///
/// If anything else stands there, a pair is incomplete, a file is not private,
/// or a sidecar is not true of its profile.
pub fn captures(directory: &Path) -> Vec<Capture> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .expect("the directory can be listed")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("our names are ASCII"))
        .collect();
    names.sort();
    names
        .chunks(2)
        .map(|pair| match pair {
            [profile, sidecar] if *sidecar == format!("{profile}.json") => {
                read(directory, profile, sidecar)
            }
            _ => panic!("not a pair: {pair:?}"),
        })
        .collect()
}

fn read(directory: &Path, profile: &str, sidecar: &str) -> Capture {
    let json = private_file(&directory.join(sidecar));
    let bytes = private_file(&directory.join(profile));
    let name = profile.to_owned();
    let sidecar = Sidecar::from_json(&json).expect("a sidecar");
    let json = serde_json::from_slice(&json).expect("JSON");
    let profile = Profile::decode(&bytes, 256 << 20).expect("a profile");

    let sha256: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(sidecar.sha256, sha256, "{name}");
    assert_eq!(sidecar.bytes, bytes.len() as u64, "{name}");
    let samples = profile.total("samples").expect("a sum");
    assert_eq!(u64::try_from(samples), Ok(sidecar.samples), "{name}");
    assert!(bytes.starts_with(&[0x1f, 0x8b]), "{name} is not gzip");
    Capture {
        name,
        sidecar,
        json,
        profile,
    }
}

fn private_file(path: &Path) -> Vec<u8> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = fs::symlink_metadata(path).expect("it exists").mode();
        assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
    }
    fs::read(path).expect("it can be read")
}
