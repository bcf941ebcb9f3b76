//! Unwind tables of what is loaded, from memory.

use std::ops::{Deref, Range};
use std::slice;
use std::sync::Arc;

use super::signing;

/// The largest table of a library that is copied; beyond it stacks through
/// that library have to do with frame pointers. Tables are about a twentieth
/// of a binary.
const COPY_BYTES_MAX: usize = 32 << 20;

/// Bytes of an unwind table.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    /// Of what cannot be unloaded: the program itself and the vDSO.
    Forever(&'static [u8]),
    /// Copied, since the library may go at any time.
    Copied(Arc<[u8]>),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Forever(&[])
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Forever(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

/// `.eh_frame_hdr` and `.eh_frame` of a module, with the addresses that the
/// linker gave them.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) header: Bytes,
    pub(crate) header_range: Range<u64>,
    pub(crate) frames: Bytes,
    pub(crate) frames_range: Range<u64>,
}

/// A module as the dynamic linker knows it.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Addresses in the process less those of the linker.
    pub(crate) bias: u64,
    /// The lowest address that the linker gave it.
    pub(crate) base: u64,
    /// Executable addresses, in the process.
    pub(crate) code: Vec<Range<u64>>,
    /// None if it has none that can be used.
    pub(crate) tables: Option<Tables>,
}

/// How often the dynamic linker has loaded and unloaded something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    added: u64,
    removed: u64,
}

impl Changes {
    /// The present counts; takes well under a microsecond.
    pub(crate) fn now() -> Self {
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            changes: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the caller passes a valid info, and what it was given.
            let (info, changes) = unsafe { (&*info, &mut *changes.cast::<Changes>()) };
            changes.added = info.dlpi_adds;
            changes.removed = info.dlpi_subs;
            1
        }

        let mut changes = Self::default();
        // SAFETY: the callback is made for this pointer, which lives through
        // the call.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
        changes
    }
}

/// Everything that is loaded. Tables are shared with `known` where they have
/// not changed.
pub(crate) fn objects(known: &[Object]) -> Vec<Object> {
    struct Walk<'a> {
        known: &'a [Object],
        vdso: u64,
        found: Vec<Object>,
    }

    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        walk: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the caller passes a valid info, and what it was given.
        let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<'_>>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the dynamic linker keeps as many program headers there, and
        // unloads nothing during its call.
        let headers =
            unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let bias = info.dlpi_addr;
        let is_vdso = headers
            .iter()
            .any(|header| header.p_type == libc::PT_LOAD && bias + header.p_vaddr == walk.vdso);
        // The first is the program itself. The vDSO is added by its own address.
        if !is_vdso {
            let forever = walk.found.is_empty();
            // SAFETY: the headers describe what is mapped, at least until the
            // dynamic linker's call ends; the program itself stays.
            let object = unsafe { object(bias, headers, forever, walk.known) };
            walk.found.push(object);
        }
        0
    }

    let mut walk = Walk {
        known,
        // SAFETY: it only reads what the kernel passed to the process.
        vdso: unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) },
        found: Vec::new(),
    };
    // SAFETY: the callback is made for this pointer, which lives through the
    // call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut walk).cast()) };
    if walk.vdso != 0 {
        // SAFETY: the kernel maps a whole ELF image there, for good.
        walk.found.extend(unsafe { image(walk.vdso) });
    }
    walk.found
}

/// An ELF image that is mapped as it stands in its file.
///
/// # Safety
///
/// One must be mapped at `start` and stay there.
unsafe fn image(start: u64) -> Option<Object> {
    // SAFETY: an image begins with its header.
    let header = unsafe { &*(start as usize as *const libc::Elf64_Ehdr) };
    if header.e_ident.get(..4) != Some(b"\x7fELF") {
        return None;
    }
    let headers = (start + header.e_phoff) as usize as *const libc::Elf64_Phdr;
    // SAFETY: the header says that they are there.
    let headers = unsafe { slice::from_raw_parts(headers, usize::from(header.e_phnum)) };
    let first = headers
        .iter()
        .find(|header| header.p_type == libc::PT_LOAD)?;
    let bias = start.wrapping_sub(first.p_vaddr);
    // SAFETY: the image is mapped whole and stays.
    Some(unsafe { object(bias, headers, true, &[]) })
}

/// # Safety
///
/// The loadable segments of `headers` must be mapped at `bias`, and stay so if
/// `forever`, else until this returns.
unsafe fn object(
    bias: u64,
    headers: &[libc::Elf64_Phdr],
    forever: bool,
    known: &[Object],
) -> Object {
    let loaded = || {
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
    };
    let code = loaded()
        .filter(|header| header.p_flags & libc::PF_X != 0)
        .map(|header| {
            let start = bias.wrapping_add(header.p_vaddr);
            start..start.wrapping_add(header.p_memsz)
        })
        .collect();
    let base = loaded().map(|header| header.p_vaddr).min().unwrap_or(0);
    let segment = |address: u64| {
        loaded()
            .map(|header| header.p_vaddr..header.p_vaddr.wrapping_add(header.p_filesz))
            .find(|range| range.contains(&address))
    };
    let tables = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)
        .and_then(|header| {
            let within = segment(header.p_vaddr)?;
            let header_range = header.p_vaddr..within.end.min(header.p_vaddr + header.p_memsz);
            // SAFETY: the range lies in a loaded segment.
            let header = unsafe { mapped(bias, &header_range) };
            let start = frames_start(header, header_range.start)?;
            let within = segment(start)?;
            // SAFETY: as above.
            let rest = unsafe { mapped(bias, &(start..within.end)) };
            if forever {
                let understood = frames_bytes(header, header_range.start, rest, start)
                    .and_then(|bytes| understood(&rest[..bytes]));
                let frames = understood.map_or(Bytes::Forever(rest), Bytes::Copied);
                return Some(Tables {
                    header: Bytes::Forever(header),
                    header_range,
                    frames_range: start..start + frames.len() as u64,
                    frames,
                });
            }
            let same =
                |tables: &&Tables| tables.header_range == header_range && *tables.header == *header;
            let before = known
                .iter()
                .filter(|object| object.bias == bias)
                .filter_map(|object| object.tables.as_ref())
                .find(same);
            if let Some(before) = before {
                return Some(before.clone());
            }
            let bytes = frames_bytes(header, header_range.start, rest, start)?;
            (bytes <= COPY_BYTES_MAX).then(|| Tables {
                header: Bytes::Copied(header.into()),
                header_range,
                frames: Bytes::Copied(
                    understood(&rest[..bytes]).unwrap_or_else(|| rest[..bytes].into()),
                ),
                frames_range: start..start + bytes as u64,
            })
        });
    Object {
        bias,
        base,
        code,
        tables,
    }
}

/// A copy of a table that can be read in full; none if the table itself can.
fn understood(frames: &[u8]) -> Option<Arc<[u8]>> {
    if !cfg!(target_arch = "aarch64") {
        return None;
    }
    signing::blanked(frames).map(Arc::from)
}

/// # Safety
///
/// `range`, which is in the linker's addresses, must be mapped readable for as
/// long as the result is used.
unsafe fn mapped(bias: u64, range: &Range<u64>) -> &'static [u8] {
    let start = bias.wrapping_add(range.start) as usize as *const u8;
    // SAFETY: as the caller promises. Such tables are read-only data.
    unsafe { slice::from_raw_parts(start, (range.end - range.start) as usize) }
}

/// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`, as every linker writes it.
const RELATIVE_TO_HERE: u8 = 0x1b;
/// `DW_EH_PE_udata4`.
const COUNT: u8 = 0x03;
/// `DW_EH_PE_datarel | DW_EH_PE_sdata4`.
const RELATIVE_TO_TABLE: u8 = 0x3b;

/// Where `.eh_frame` is, by the `.eh_frame_hdr` at `address`.
fn frames_start(header: &[u8], address: u64) -> Option<u64> {
    let [1, RELATIVE_TO_HERE, ..] = *header else {
        return None;
    };
    let offset = i32::from_le_bytes(header.get(4..8)?.try_into().ok()?);
    Some((address + 4).wrapping_add_signed(offset.into()))
}

/// How long `.eh_frame`, which begins at `start` with `rest`, is: it ends
/// behind the last entry that the `.eh_frame_hdr` at `address` lists.
fn frames_bytes(header: &[u8], address: u64, rest: &[u8], start: u64) -> Option<usize> {
    let [1, _, COUNT, RELATIVE_TO_TABLE, ..] = *header else {
        return None;
    };
    let word = |bytes: &[u8]| Some(i32::from_le_bytes(bytes.try_into().ok()?));
    let count = word(header.get(8..12)?)?.cast_unsigned() as usize;
    let last = header
        .get(12..)?
        .chunks_exact(8)
        .take(count)
        .filter_map(|entry| word(entry.get(4..8)?))
        .max()?;
    let entry = address.wrapping_add_signed(last.into());
    let offset = usize::try_from(entry.checked_sub(start)?).ok()?;
    let length = word(rest.get(offset..offset + 4)?)?.cast_unsigned();
    let end = offset.checked_add(4)?.checked_add(length as usize)?;
    (end <= rest.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::print_stdout, reason = "what was skipped")]
    #[test]
    fn the_program_the_c_library_and_the_vdso_have_tables() {
        let objects = objects(&[]);
        let of = |address: u64| {
            objects
                .iter()
                .find(|object| object.code.iter().any(|code| code.contains(&address)))
                .expect("it is loaded")
        };
        let own = of(super::objects as *const () as usize as u64);
        let libc = of(libc::strtol as *const () as usize as u64);
        let is_forever = |object: &Object| match &object.tables {
            Some(tables) => matches!(tables.frames, Bytes::Forever(_)),
            None => panic!("{object:?}"),
        };
        assert!(is_forever(own));
        assert!(!is_forever(libc));
        // SAFETY: it only reads what the kernel passed to the process.
        let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
        if vdso == 0 {
            println!("SKIPPED: this kernel, or an emulator of one, has no vDSO");
            return;
        }
        let vdso = objects
            .iter()
            .find(|object| object.bias + object.base == vdso)
            .expect("it is mapped");
        assert!(is_forever(vdso));
    }

    #[test]
    fn what_has_not_changed_is_not_copied_again() {
        let first = objects(&[]);
        let second = objects(&first);
        let copies = |objects: &[Object]| -> Vec<*const u8> {
            objects
                .iter()
                .filter_map(|object| match &object.tables.as_ref()?.frames {
                    Bytes::Copied(bytes) => Some(bytes.as_ptr()),
                    Bytes::Forever(_) => None,
                })
                .collect()
        };
        assert!(!copies(&first).is_empty());
        assert_eq!(copies(&first), copies(&second));
    }

    #[test]
    fn strange_headers_are_no_tables() {
        assert_eq!(frames_start(&[], 0), None);
        assert_eq!(frames_start(&[2, 0x1b, 3, 0x3b, 0, 0, 0, 0], 0), None);
        assert_eq!(
            frames_start(&[1, 0x1b, 3, 0x3b, 16, 0, 0, 0], 100),
            Some(120)
        );
        let header = [
            1, 0x1b, 3, 0x3b, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
        ];
        // The one entry is at 100 + 20, eight bytes long behind its length.
        let rest = [8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(frames_bytes(&header, 100, &rest, 120), Some(12));
        assert_eq!(frames_bytes(&header, 100, &rest[..11], 120), None);
        assert_eq!(frames_bytes(&header, 100, &rest, 121), None);
    }
}
