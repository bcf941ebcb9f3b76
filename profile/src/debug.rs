//! Frames out of a file's debug information (DWARF), inlined calls included.

use std::borrow::Cow;
use std::io::Read;

use addr2line::Context;
#[cfg(feature = "reader")]
use addr2line::gimli::EndianRcSlice;
use addr2line::gimli::{
    self, Dwarf, DwarfSections, EndianSlice, Reader, ReaderOffset as _, RunTimeEndian, SectionId,
};
use flate2::read::ZlibDecoder;
use object::{CompressionFormat, Object, ObjectSection};

use crate::crates::Crates;
use crate::error::{Error, ErrorKind, Result};
use crate::image::Parsed;
use crate::readable::{NAME_BYTES_MAX, beginning};

/// Debug information beyond this is left to the reader of the profile: it is held
/// in memory while names are looked up.
const SECTION_BYTES_MAX: u64 = 256 << 20;

/// What debug information says of one frame.
pub(crate) struct DebugFrame {
    /// The linker's name, or the bare one if that is all there is.
    pub(crate) name: Option<String>,
    /// The path of the module it is in, as its file tells.
    pub(crate) module: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The frames at each link-time address, the innermost inlined one first; none
/// where the debug information says nothing.
///
/// Split debug information is not opened: it would be read from wherever the program
/// was built, without proof that it belongs to it.
pub(crate) fn frames(file: &Parsed<'_>, addresses: &[u64]) -> Result<Vec<Vec<DebugFrame>>> {
    let mut budget = SECTION_BYTES_MAX;
    let sections = DwarfSections::load(|id| section(file, id, &mut budget))?;
    let endian = endian(file);
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let debug = DebugInfo::of(dwarf)?;
    Ok(addresses
        .iter()
        // One unit that cannot be understood does not make the others worthless.
        .map(|&address| debug.frames(address).unwrap_or_default())
        .collect())
}

/// The debug information of a file, held by itself: it stays when the file is let go.
#[cfg(feature = "reader")]
pub(crate) fn owned(file: &Parsed<'_>) -> Result<DebugInfo<EndianRcSlice<RunTimeEndian>>> {
    let mut budget = SECTION_BYTES_MAX;
    let endian = endian(file);
    DebugInfo::of(Dwarf::load(|id| {
        let bytes = section(file, id, &mut budget)?;
        Ok::<_, Error>(EndianRcSlice::new(bytes.into(), endian))
    })?)
}

fn endian(file: &Parsed<'_>) -> RunTimeEndian {
    match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    }
}

/// Debug information that addresses can be looked up in.
pub(crate) struct DebugInfo<R: Reader> {
    context: Context<R>,
    crates: Crates,
}

impl<R: Reader> DebugInfo<R> {
    fn of(dwarf: Dwarf<R>) -> Result<Self> {
        let crates = Crates::of(&dwarf);
        let context = Context::from_dwarf(dwarf).map_err(|source| {
            Error::malformed("the debug information cannot be read").caused_by(source)
        })?;
        Ok(Self { context, crates })
    }

    pub(crate) fn frames(
        &self,
        address: u64,
    ) -> std::result::Result<Vec<DebugFrame>, gimli::Error> {
        let mut found = Vec::new();
        let mut frames = self.context.find_frames(address).skip_all_loads()?;
        while let Some(frame) = frames.next()? {
            let location = frame.location.as_ref();
            let file = location
                .and_then(|it| it.file)
                .map(|it| beginning(it, NAME_BYTES_MAX).to_owned());
            let (mut name, mut module) = (None, None);
            if let Some(function) = &frame.function {
                name = Some(text(function.name.clone())?);
                if function.language == Some(gimli::DW_LANG_Rust) {
                    module = file.as_deref().and_then(|it| self.crates.module(it));
                }
            }
            found.push(DebugFrame {
                name,
                module,
                file,
                line: location.and_then(|it| it.line).unwrap_or(0),
                column: location.and_then(|it| it.column).unwrap_or(0),
            });
        }
        Ok(found)
    }
}

/// A name's beginning: any number of frames may have one of any length.
pub(crate) fn text<R: Reader>(mut bytes: R) -> std::result::Result<String, gimli::Error> {
    // The last character may be cut in two: it goes below.
    let looked_at = R::Offset::from_u64(NAME_BYTES_MAX as u64 + 4)?;
    if bytes.len() > looked_at {
        bytes.truncate(looked_at)?;
    }
    Ok(beginning(&bytes.to_string_lossy()?, NAME_BYTES_MAX).to_owned())
}

/// The bytes of one section; none if it is absent or not needed for frames.
fn section<'a>(file: &Parsed<'a>, id: SectionId, budget: &mut u64) -> Result<Cow<'a, [u8]>> {
    let needed = matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    );
    let Some(section) = needed.then(|| file.section_by_name(id.name())).flatten() else {
        return Ok(Cow::Borrowed(&[]));
    };
    let unreadable = |source: object::Error| {
        Error::malformed(format!("section {} cannot be read", id.name())).caused_by(source)
    };
    let range = section.compressed_file_range().map_err(unreadable)?;
    // Counted before anything is read, compressed bytes included: both are held.
    let held = match range.format {
        CompressionFormat::None => range.uncompressed_size,
        _ => range
            .uncompressed_size
            .saturating_add(range.compressed_size),
    };
    *budget = budget.checked_sub(held).ok_or_else(|| {
        Error::new(
            ErrorKind::TooLarge,
            format!("the debug information has more than {SECTION_BYTES_MAX} bytes"),
        )
    })?;
    let section = section.compressed_data().map_err(unreadable)?;
    match section.format {
        CompressionFormat::None => Ok(Cow::Borrowed(section.data)),
        CompressionFormat::Zlib => {
            let mut bytes = Vec::new();
            ZlibDecoder::new(section.data)
                .take(section.uncompressed_size)
                .read_to_end(&mut bytes)
                .map_err(|source| {
                    Error::malformed(format!("section {} cannot be inflated", id.name()))
                        .caused_by(source)
                })?;
            Ok(Cow::Owned(bytes))
        }
        _ => Err(Error::malformed(format!(
            "section {} is compressed in a way other than zlib",
            id.name()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_end_is_cut_between_two_characters() {
        let long = format!("a{}", "ä".repeat(NAME_BYTES_MAX));
        for (bytes, expected) in [
            ("main".as_bytes(), "main"),
            (b"", ""),
            (long.as_bytes(), &long[..NAME_BYTES_MAX - 1]),
        ] {
            let bytes = EndianSlice::new(bytes, RunTimeEndian::Little);
            assert_eq!(text(bytes).expect("it has a beginning"), expected);
        }
    }
}
