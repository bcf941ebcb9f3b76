//! Unwind tables of code that signs its return addresses.
//!
//! On aarch64 such tables say from which instruction on the return address is
//! signed. A walk does not need that, since it masks the signature of every
//! address; but framehop's reader knows no such word and gives up the whole
//! function. So the words are blanked.

use std::collections::HashMap;
use std::ops::Range;

/// `DW_CFA_nop`.
const NOTHING: u8 = 0x00;
/// `DW_CFA_AARCH64_negate_ra_state`.
const SIGNING_CHANGES: u8 = 0x2d;

/// The bytes of an `.eh_frame` without words on signing; none if there are no
/// such words. What cannot be read stays as it is.
pub(crate) fn blanked(frames: &[u8]) -> Option<Vec<u8>> {
    let mut blanked = None;
    let mut conventions = HashMap::new();
    let mut reader = Reader {
        bytes: frames,
        at: 0,
    };
    while let Some(length) = reader.word() {
        let start = reader.at;
        let end = start.checked_add(length as usize);
        let Some(end) = end.filter(|end| *end <= frames.len()) else {
            break;
        };
        if length != 0
            && let Some(program) = program(frames, start..end, &mut conventions)
        {
            for at in words_on_signing(&frames[..program.end], program.start) {
                blanked.get_or_insert_with(|| frames.to_vec())[at] = NOTHING;
            }
        }
        reader.at = end;
    }
    blanked
}

/// What the entries for functions have in common, as their common entry says.
#[derive(Clone, Copy)]
struct Convention {
    /// Of a pointer to code.
    pointer_bytes: usize,
    has_augmentation: bool,
}

/// Where the instructions of an entry are.
fn program(
    frames: &[u8],
    entry: Range<usize>,
    conventions: &mut HashMap<usize, Convention>,
) -> Option<Range<usize>> {
    let mut reader = Reader {
        bytes: &frames[..entry.end],
        at: entry.start,
    };
    let back = reader.word()? as usize;
    if back == 0 {
        let convention = reader.convention()?;
        conventions.insert(entry.start, convention);
    } else {
        // A common entry is known by what is behind its length.
        let common = entry.start.checked_sub(back)?.checked_add(4)?;
        let convention = conventions.get(&common)?;
        reader.skip(2 * convention.pointer_bytes)?;
        if convention.has_augmentation {
            reader.skip_block()?;
        }
    }
    Some(reader.at..entry.end)
}

/// The places of such words in the instructions from `start` on.
fn words_on_signing(program: &[u8], start: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut reader = Reader {
        bytes: program,
        at: start,
    };
    loop {
        let at = reader.at;
        let Some(word) = reader.byte() else {
            break;
        };
        if word == SIGNING_CHANGES {
            found.push(at);
        } else if reader.skip_operands(word).is_none() {
            break;
        }
    }
    found
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        let end = self.at.checked_add(4)?;
        let word = self.bytes.get(self.at..end)?.try_into().ok()?;
        self.at = end;
        Some(u32::from_le_bytes(word))
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// A number in LEB128, if it is one below 2^63; signed ones are read as if
    /// they were not, which takes the same bytes.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn skip_block(&mut self) -> Option<()> {
        let bytes = usize::try_from(self.number()?).ok()?;
        self.skip(bytes)
    }

    /// Reads a common entry up to its instructions, from its version on.
    fn convention(&mut self) -> Option<Convention> {
        const ADDRESS: usize = 8;

        let version = self.byte()?;
        let mut augmentation = Vec::new();
        loop {
            match self.byte()? {
                0 => break,
                letter => augmentation.push(letter),
            }
        }
        self.number()?;
        self.number()?;
        match version {
            1 => drop(self.byte()?),
            _ => drop(self.number()?),
        }
        let mut convention = Convention {
            pointer_bytes: ADDRESS,
            has_augmentation: false,
        };
        if augmentation.first() != Some(&b'z') {
            return augmentation.is_empty().then_some(convention);
        }
        convention.has_augmentation = true;
        let bytes = usize::try_from(self.number()?).ok()?;
        let end = self.at.checked_add(bytes)?;
        for letter in &augmentation[1..] {
            match letter {
                b'R' => convention.pointer_bytes = pointer_bytes(self.byte()?)?,
                b'P' => {
                    let encoding = self.byte()?;
                    self.skip(pointer_bytes(encoding)?)?;
                }
                b'L' => drop(self.byte()?),
                // That of signal handlers, and those of aarch64: signed by the
                // second key, and tagged memory.
                b'S' | b'B' | b'G' => {}
                _ => return None,
            }
        }
        self.at = end;
        (end <= self.bytes.len()).then_some(convention)
    }

    /// Passes over what follows an instruction.
    fn skip_operands(&mut self, instruction: u8) -> Option<()> {
        match (instruction & 0xc0, instruction & 0x3f) {
            // Up to the next address, and back to a register's first rule.
            (0x40 | 0xc0, _) | (0, 0x00 | 0x0a | 0x0b) => {}
            (0, 0x02) => self.skip(1)?,
            (0, 0x03) => self.skip(2)?,
            (0, 0x04) => self.skip(4)?,
            // One number, and two.
            (0x80, _) | (0, 0x06..=0x08 | 0x0d | 0x0e | 0x13 | 0x2e) => drop(self.number()?),
            (0, 0x05 | 0x09 | 0x0c | 0x11 | 0x12 | 0x14 | 0x15) => {
                self.number()?;
                self.number()?;
            }
            // Expressions, of one register or of the frame.
            (0, 0x10 | 0x16) => {
                self.number()?;
                self.skip_block()?;
            }
            (0, 0x0f) => self.skip_block()?,
            _ => return None,
        }
        Some(())
    }
}

/// The size of a pointer by its `DW_EH_PE_…`, if it always has the same.
fn pointer_bytes(encoding: u8) -> Option<usize> {
    match encoding & 0x0f {
        0x00 | 0x04 | 0x0c => Some(8),
        0x02 | 0x0a => Some(2),
        0x03 | 0x0b => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A common entry and one for a function with the instructions `program`.
    fn table(augmentation: &[u8], program: &[u8]) -> Vec<u8> {
        let mut common = vec![0, 0, 0, 0, 1];
        common.extend(augmentation);
        common.extend([0, 4, 0x78, 30, 1, 0x1b, SIGNING_CHANGES]);
        let mut frames = (common.len() as u32).to_le_bytes().to_vec();
        frames.extend(&common);
        let back = frames.len() as u32 + 4;
        let mut function = back.to_le_bytes().to_vec();
        function.extend([SIGNING_CHANGES; 8]);
        function.push(0);
        function.extend(program);
        frames.extend((function.len() as u32).to_le_bytes());
        frames.extend(function);
        frames.extend([0; 4]);
        frames
    }

    fn is_blanked(program: &[u8], at: &[usize]) {
        let frames = table(b"zR", program);
        let mut expected = frames.clone();
        let common_bytes = u32::from_le_bytes([frames[0], frames[1], frames[2], frames[3]]);
        // The common entry ends with such a word.
        expected[4 + common_bytes as usize - 1] = NOTHING;
        let first = frames.len() - 4 - program.len();
        for place in at {
            expected[first + place] = NOTHING;
        }
        assert_eq!(blanked(&frames), Some(expected), "{program:x?}");
    }

    #[test]
    fn words_are_blanked_and_operands_are_not() {
        is_blanked(&[0x2d], &[0]);
        is_blanked(&[0x41, 0x2d, 0x0e, 0x2d, 0x9e, 0x2d, 0x2d], &[1, 6]);
        is_blanked(&[0x02, 0x2d, 0x2d, 0x03, 0x2d, 0x2d, 0x2d], &[2, 6]);
        is_blanked(&[0x0c, 0x2d, 0xad, 0x2d, 0x2d], &[4]);
        is_blanked(&[0x10, 0x2d, 2, 0x2d, 0x2d, 0x2d], &[5]);
        is_blanked(&[0x0f, 1, 0x2d, 0x2d, 0x0a, 0x0b, 0xde], &[3]);
        // Behind what cannot be read nothing is touched.
        is_blanked(&[0x2d, 0x3f, 0x2d], &[0]);
        is_blanked(&[0x04, 0x2d], &[]);
    }

    #[test]
    fn strange_tables_stay_as_they_are() {
        assert_eq!(blanked(&[]), None);
        assert_eq!(blanked(&[0x2d; 64]), None);
        assert_eq!(blanked(&table(b"zQ", &[0x2d])), None);
        let whole = table(b"zR", &[0x2d, 0x2d]);
        for length in 0..whole.len() {
            if let Some(cut) = blanked(&whole[..length]) {
                assert_eq!(cut.len(), length);
            }
        }
    }
}
