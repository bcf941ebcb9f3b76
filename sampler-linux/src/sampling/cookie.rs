//! What our timers' signals carry, by which their handler knows them.

use super::table::THREADS_MAX;

/// Whom a signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The timer of an armed thread.
    Thread {
        /// Its place in the table.
        index: u16,
        /// The generation of that place.
        generation: u16,
    },
    /// The timer on the CPU clock of the process.
    Process,
    /// A test whether signals reach the handler.
    Probe,
}

/// A source and the capture it belongs to, in the 64 bits that a signal
/// carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) capture: u16,
    pub(crate) source: Source,
}

const PROCESS: u16 = 0xffff;
const PROBE: u16 = 0xfffe;

const _: () = assert!(THREADS_MAX <= PROBE as usize);

impl Cookie {
    pub(crate) fn to_bits(self) -> u64 {
        let (index, generation) = match self.source {
            Source::Thread { index, generation } => (index, generation),
            Source::Process => (PROCESS, 0),
            Source::Probe => (PROBE, 0),
        };
        u64::from(seal()) << 48
            | u64::from(self.capture) << 32
            | u64::from(generation) << 16
            | u64::from(index)
    }

    /// None if the bits are not ours.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        if (bits >> 48) as u16 != seal() {
            return None;
        }
        let source = match bits as u16 {
            PROCESS => Source::Process,
            PROBE => Source::Probe,
            index => Source::Thread {
                index,
                generation: (bits >> 16) as u16,
            },
        };
        Some(Self {
            capture: (bits >> 32) as u16,
            source,
        })
    }
}

/// Differs between two copies of this crate in one process, and never looks
/// like a pointer.
fn seal() -> u16 {
    static HERE: u8 = 0;
    let address = (&raw const HERE) as u64;
    let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    mixed as u16 | 0x8000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_comes_back_and_foreign_bits_do_not() {
        for source in [
            Source::Process,
            Source::Probe,
            Source::Thread {
                index: 0,
                generation: 0xffff,
            },
            Source::Thread {
                index: 8191,
                generation: 0,
            },
        ] {
            let cookie = Cookie {
                capture: 0xfedc,
                source,
            };
            assert_eq!(Cookie::from_bits(cookie.to_bits()), Some(cookie));
            assert_eq!(Cookie::from_bits(cookie.to_bits() ^ 1 << 50), None);
        }
        for foreign in [0, 1, 0x7fff_1234_5678, 0x0000_ffff_ffff_ffff] {
            assert_eq!(Cookie::from_bits(foreign), None);
        }
    }
}
