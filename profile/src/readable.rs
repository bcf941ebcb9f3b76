//! Names of functions as people write them, whatever a file says.

use std::fmt::{self, Write};

/// Longer names are cut: they are nobody's, and take time.
pub(crate) const NAME_BYTES_MAX: usize = 4096;

/// A name of a function without the compiler's mangling, or the name itself if it is not
/// mangled: at most 4 KiB of it. `with_hash` keeps the hash that makes it unique.
///
/// A few bytes of a mangled name can stand for a million. Neither the time that this
/// takes nor the memory depends on that.
#[cfg_attr(
    not(feature = "reader"),
    allow(unreachable_pub, reason = "only readers see it from outside")
)]
#[must_use]
pub fn readable(name: &str, with_hash: bool) -> String {
    let name = beginning(name, NAME_BYTES_MAX);
    let Ok(demangled) = rustc_demangle::try_demangle(name) else {
        return name.to_owned();
    };
    let mut readable = Bounded(String::new());
    // Fails once it is full, and then nothing more is looked at.
    let _ = match with_hash {
        true => write!(readable, "{demangled}"),
        false => write!(readable, "{demangled:#}"),
    };
    readable.0
}

/// At most `max` bytes of the text.
pub(crate) fn beginning(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rfind(|&it| text.is_char_boundary(it));
    &text[..end.unwrap_or(0)]
}

/// Takes [`NAME_BYTES_MAX`], and nothing after them.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = beginning(text, NAME_BYTES_MAX - self.0.len());
        self.0.push_str(fits);
        match fits.len() == text.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_that_stands_for_a_long_one_is_cut_before_it_is_made() {
        // Tuples of twice the same, 48 deep: as a whole it would not be made in a year.
        let digits = "89abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST";
        let back: String = digits.chars().rev().map(|it| format!("B{it}_E")).collect();
        let name = format!("_RMC5c0000{}h{back}", "T".repeat(digits.len()));
        for with_hash in [false, true] {
            let readable = readable(&name, with_hash);
            assert!(readable.starts_with("<(((("), "{readable}");
            assert_eq!(readable.len(), NAME_BYTES_MAX);
        }
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let name = format!("a{}", "ä".repeat(NAME_BYTES_MAX));
        assert_eq!(readable(&name, false).len(), NAME_BYTES_MAX - 1);
        let mut bounded = Bounded("a".repeat(NAME_BYTES_MAX - 1));
        assert!(bounded.write_str("ä").is_err());
        assert!(bounded.write_str("").is_ok());
        assert_eq!(bounded.0.len(), NAME_BYTES_MAX - 1);
    }

    #[test]
    fn names_are_demangled_with_or_without_their_hash() {
        let name = "_ZN4demo5outer17h0123456789abcdefE";
        assert_eq!(readable(name, false), "demo::outer");
        assert_eq!(readable(name, true), "demo::outer::h0123456789abcdef");
        assert_eq!(readable("runtime.mallocgc", true), "runtime.mallocgc");
    }
}
