//! One file, within bounds.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tachograph_profile::Profile;
use tachograph_profile::reader::Caps;

/// The largest file that is read, as it is on disk.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The largest profile that is read, uncompressed and in memory.
const CAPS: Caps = Caps {
    uncompressed: 512 << 20,
    memory: 4 << 30,
};

/// The profile in the file at `path`; `-` is standard input.
pub(crate) fn profile(path: &Path) -> Result<Profile, String> {
    let bytes = if path.as_os_str() == "-" {
        read(std::io::stdin().lock(), FILE_BYTES_MAX)?
    } else {
        bounded(path, FILE_BYTES_MAX)?
    };
    decoded(&bytes)
}

/// The profile of which `bytes` are the file.
pub(crate) fn decoded(bytes: &[u8]) -> Result<Profile, String> {
    Profile::decode_within(bytes, CAPS).map_err(|error| format!("{error:#}"))
}

/// The bytes of the file at `path`, if it has at most `max`.
pub(crate) fn bounded(path: &Path, max: u64) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("this is a directory".to_owned());
    }
    if metadata.len() > max {
        return Err(too_large(max));
    }
    read(file, max)
}

fn read(source: impl Read, max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    source
        .take(max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > max {
        return Err(too_large(max));
    }
    Ok(bytes)
}

fn too_large(max: u64) -> String {
    format!("the file has more than the {max} bytes that are read")
}
