//! A binary on disk, asked for the functions at its addresses.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use addr2line::gimli::{EndianRcSlice, RunTimeEndian};
use object::{Object as _, ObjectSegment as _};

use crate::debug::{self, DebugInfo};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::symbolize::{Resolved, combine};
use crate::symbols::Symbols;

/// An executable or a library on disk, with what was read of its debug information.
///
/// Nothing but its headers is read until an address is asked for, and each address is
/// looked up once.
pub struct Binary {
    path: PathBuf,
    build_id: String,
    segments: Vec<Segment>,
    loaded: Option<Loaded>,
    known: HashMap<u64, Rc<Resolved>>,
}

/// What of the file is loaded where, as the linker saw it.
struct Segment {
    file_offset: u64,
    bytes: u64,
    address: u64,
}

struct Loaded {
    image: Image,
    symbols: Symbols,
    debug: Option<DebugInfo<EndianRcSlice<RunTimeEndian>>>,
}

impl Binary {
    /// Opens a regular file of at most 2 GiB.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if it cannot be opened,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it is not a regular file, not an
    /// ELF or thin Mach-O file, or has no build id by which it could be told that a
    /// profile is of it, and [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge).
    pub fn open(path: &Path) -> Result<Self> {
        let image = Image::open(path)?;
        let file = image.parse(None)?;
        let build_id = crate::image::own_build_id(&file)
            .ok_or_else(|| Error::malformed("the file has no build id, so no profile is of it"))?;
        let segments = file
            .segments()
            .map(|it| {
                let (file_offset, bytes) = it.file_range();
                Segment {
                    file_offset,
                    bytes,
                    address: it.address(),
                }
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            build_id,
            segments,
            loaded: None,
            known: HashMap::new(),
        })
    }

    /// What identifies this build, in lower-case hexadecimal digits.
    #[must_use]
    pub fn build_id(&self) -> &str {
        &self.build_id
    }

    /// The address, as the linker saw it, of what stands at `offset` in the file.
    pub(crate) fn link_address(&self, offset: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|it| offset.wrapping_sub(it.file_offset) < it.bytes)
            .map(|it| it.address.wrapping_add(offset - it.file_offset))
    }

    /// The functions at link-time addresses, in their order.
    pub(crate) fn resolve(&mut self, addresses: &[u64]) -> Result<Vec<Rc<Resolved>>> {
        let mut unknown: Vec<u64> = addresses
            .iter()
            .copied()
            .filter(|address| !self.known.contains_key(address))
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let loaded = match &mut self.loaded {
                Some(loaded) => loaded,
                none => none.insert(Loaded::of(&self.path, &self.build_id)?),
            };
            let found = loaded.resolve(&self.build_id, &unknown)?;
            let found = found.into_iter().map(Rc::new);
            self.known.extend(unknown.into_iter().zip(found));
        }
        Ok(addresses
            .iter()
            .map(|address| Rc::clone(&self.known[address]))
            .collect())
    }
}

impl Loaded {
    fn of(path: &Path, build_id: &str) -> Result<Self> {
        // Debug information is the larger part; it is copied out section by section, and
        // the image that it was read through is let go.
        let debug = {
            let image = Image::open(path)?;
            let file = image.parse(Some(build_id))?;
            // Without usable debug information the symbol table has to do.
            debug::owned(&file).ok()
        };
        let image = Image::open(path)?;
        let symbols = Symbols::of(&image.parse(Some(build_id))?);
        Ok(Self {
            image,
            symbols,
            debug,
        })
    }

    fn resolve(&self, build_id: &str, ascending: &[u64]) -> Result<Vec<Resolved>> {
        let file = self.image.parse(Some(build_id))?;
        let names = self.symbols.names(&file, ascending);
        Ok(ascending
            .iter()
            .zip(names)
            .map(|(&address, name)| {
                let frames = self.debug.as_ref().and_then(|it| it.frames(address).ok());
                combine(name, frames.unwrap_or_default())
            })
            .collect())
    }
}

impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Binary")
            .field("path", &self.path)
            .field("build_id", &self.build_id)
            .finish_non_exhaustive()
    }
}
