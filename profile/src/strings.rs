//! The string table of a profile under construction.

use std::collections::HashMap;

/// Every text once; number 0 is the empty one, as the format demands.
#[derive(Debug)]
pub(crate) struct Strings {
    numbers: HashMap<String, i64>,
    table: Vec<String>,
}

impl Strings {
    pub(crate) fn new() -> Self {
        let mut strings = Self {
            numbers: HashMap::new(),
            table: Vec::new(),
        };
        strings.number("");
        strings
    }

    /// The number of `text`, the next free one if it is new.
    pub(crate) fn number(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.table.len() as i64;
        self.numbers.insert(text.to_owned(), number);
        self.table.push(text.to_owned());
        number
    }

    /// The text of a number that was given out.
    #[cfg(feature = "reader")]
    pub(crate) fn text(&self, number: i64) -> &str {
        &self.table[number as usize]
    }

    pub(crate) fn into_table(self) -> Vec<String> {
        self.table
    }
}
