//! An executable file on disk, proven to be the one in memory.

use std::fs::{self, File};
use std::path::Path;

use object::read::ReadCache;
use object::{BinaryFormat, Object};

use crate::error::{Error, ErrorKind, Result};
use crate::module::build_id_text;

/// Files beyond this are not read for names.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Read in pieces as they are needed, and never mapped: a mapped file that
/// somebody truncates would kill the process.
pub(crate) struct Image {
    cache: ReadCache<File>,
}

pub(crate) type Parsed<'a> = object::File<'a, &'a ReadCache<File>>;

impl Image {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |source| Error::new(ErrorKind::Io, "cannot open the file").caused_by(source);
        // Asked before opening, since opening a pipe would wait for a writer.
        check(&fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        check(&file.metadata().map_err(failed)?)?;
        Ok(Self {
            cache: ReadCache::new(file),
        })
    }

    /// Parses the headers; fails if the file's build id is not `build_id`.
    ///
    /// Without a build id in memory there is nothing to compare, and the file is
    /// believed: on Linux the path would have read "(deleted)" had it been replaced.
    pub(crate) fn parse(&self, build_id: Option<&str>) -> Result<Parsed<'_>> {
        let parsed = object::File::parse(&self.cache).map_err(|source| {
            Error::malformed("not an ELF or thin Mach-O file").caused_by(source)
        })?;
        if let Some(expected) = build_id {
            let found = own_build_id(&parsed);
            if found.as_deref() != Some(expected) {
                let found = found.as_deref().unwrap_or("none");
                return Err(Error::malformed(format!(
                    "the file's build id is {found}, that in memory {expected}"
                )));
            }
        }
        Ok(parsed)
    }
}

fn check(metadata: &fs::Metadata) -> Result<()> {
    if !metadata.is_file() {
        return Err(Error::malformed("not a regular file"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "the file has {} bytes, more than the {FILE_BYTES_MAX} that are read for names",
                metadata.len()
            ),
        ));
    }
    Ok(())
}

pub(crate) fn own_build_id(parsed: &Parsed<'_>) -> Option<String> {
    match parsed.format() {
        BinaryFormat::MachO => Some(build_id_text(&parsed.mach_uuid().ok()??)),
        _ => Some(build_id_text(parsed.build_id().ok()??)),
    }
}
