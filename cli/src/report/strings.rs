//! Texts, each kept once.

use hashbrown::HashMap;

/// The longest text that is kept whole, in bytes: names of functions that are longer say
/// nothing more.
const TEXT_BYTES_MAX: usize = 4096;

/// Texts by number, in the order in which they were first met.
#[derive(Debug, Default)]
pub(super) struct Strings {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Strings {
    /// The number of `text`, or of its beginning if it is too long.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let text = bounded(text);
        if let Some(&number) = self.numbers.get(&*text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("under 2^32 different texts");
        self.texts.push(text.clone().into_owned());
        self.numbers.insert(text.into_owned(), number);
        number
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }
}

/// `text`, or its beginning and how long it is.
pub(super) fn bounded(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= TEXT_BYTES_MAX {
        return text.into();
    }
    let end = (0..=TEXT_BYTES_MAX).rfind(|&it| text.is_char_boundary(it));
    let end = end.unwrap_or(0);
    format!("{}… ({} bytes)", &text[..end], text.len()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number() {
        let mut strings = Strings::default();
        assert_eq!(strings.number("a"), 0);
        assert_eq!(strings.number(""), 1);
        assert_eq!(strings.number("a"), 0);
        assert_eq!(strings.texts(), ["a", ""]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut strings = Strings::default();
        strings.number(&"é".repeat(5_000));
        strings.number(&format!("x{}", "é".repeat(5_000)));
        assert_eq!(
            strings.texts()[0],
            format!("{}… (10000 bytes)", "é".repeat(2_048))
        );
        assert_eq!(
            strings.texts()[1],
            format!("x{}… (10001 bytes)", "é".repeat(2_047))
        );
    }
}
