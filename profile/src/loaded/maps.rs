//! The text of `/proc/self/maps`.
//!
//! Described in proc_pid_maps(5). Paths are bytes, and the kernel writes a line
//! feed inside one as `\012`.

/// One executable mapping.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) file_offset: u64,
    pub(crate) path: Vec<u8>,
}

/// What the kernel appends to the path of a file that was unlinked.
const DELETED: &[u8] = b" (deleted)";

/// The path as it was before the file was unlinked, and whether it was.
pub(crate) fn linked_path(path: &[u8]) -> (&[u8], bool) {
    match path.strip_suffix(DELETED) {
        Some(path) => (path, true),
        None => (path, false),
    }
}

/// The executable mappings of files, and the vDSO. Lines that do not look like
/// the manual says are passed over: a future kernel may add some.
pub(crate) fn executable(maps: &[u8]) -> Vec<Mapping> {
    maps.split(|&byte| byte == b'\n')
        .filter_map(mapping)
        .filter(|mapping| mapping.path.starts_with(b"/") || mapping.path == b"[vdso]")
        .collect()
}

fn mapping(line: &[u8]) -> Option<Mapping> {
    let (range, rest) = field(line)?;
    let (permissions, rest) = field(rest)?;
    let (file_offset, rest) = field(rest)?;
    let (_device, rest) = field(rest)?;
    let (_inode, path) = field(rest)?;
    if !permissions.contains(&b'x') {
        return None;
    }
    let dash = range.iter().position(|&byte| byte == b'-')?;
    Some(Mapping {
        start: hexadecimal(&range[..dash])?,
        end: hexadecimal(&range[dash + 1..])?,
        file_offset: hexadecimal(file_offset)?,
        path: unescape(path.trim_ascii_start()),
    })
}

/// The bytes before the next space, and those behind it.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().position(|&byte| byte == b' ')?;
    Some((&line[..space], &line[space + 1..]))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn unescape(path: &[u8]) -> Vec<u8> {
    const LINE_FEED: &[u8] = br"\012";
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        if let Some(tail) = rest.strip_prefix(LINE_FEED) {
            plain.push(b'\n');
            rest = tail;
        } else {
            plain.push(byte);
            rest = tail;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_executable_files_and_the_vdso() {
        let text = b"\
556519981000-556519983000 r--p 00000000 fe:00 247030                     /usr/bin/cat\n\
556519983000-556519988000 r-xp 00002000 fe:00 247030                     /usr/bin/cat\n\
556545989000-5565459aa000 rw-p 00000000 00:00 0                          [heap]\n\
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
7f0000002000-7f0000003000 --xp 00001000 00:01 42                         /memfd:jit (deleted)\n\
7fb7bf267000-7fb7bf269000 r-xp 00000000 00:00 0                          [vdso]\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let found = executable(text);
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.start, it.end, it.file_offset, linked_path(&it.path)))
            .collect();
        assert_eq!(
            shown,
            [
                (
                    0x5565_1998_3000,
                    0x5565_1998_8000,
                    0x2000,
                    (&b"/usr/bin/cat"[..], false)
                ),
                (
                    0x7f00_0000_2000,
                    0x7f00_0000_3000,
                    0x1000,
                    (&b"/memfd:jit"[..], true)
                ),
                (
                    0x7fb7_bf26_7000,
                    0x7fb7_bf26_9000,
                    0,
                    (&b"[vdso]"[..], false)
                ),
            ]
        );
    }

    #[test]
    fn paths_are_bytes_with_spaces_and_line_feeds() {
        let found = executable(b"1000-2000 r-xp 0 fe:00 7    /a b\\012\xff c\n");
        assert_eq!(found[0].path, b"/a b\n\xff c");
    }

    #[test]
    fn strange_lines_are_passed_over() {
        for line in [
            &b""[..],
            b"1000",
            b"1000-2000",
            b"1000-2000 r-xp",
            b"1000-2000 r-xp zz fe:00 7 /x",
            b"10002000 r-xp 0 fe:00 7 /x",
            b"1000-2000 r-xp 0 fe:00",
            b"-2000 r-xp 0 fe:00 7 /x",
            b"11111111111111111-2 r-xp 0 fe:00 7 /x",
        ] {
            assert_eq!(executable(line), [], "{}", line.escape_ascii());
        }
    }
}
