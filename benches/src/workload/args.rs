//! The command line of a subject: `CASE --name value …`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Failure;

/// What the harness asks of a subject.
pub(crate) struct Args {
    pub(crate) case: String,
    values: HashMap<String, String>,
}

impl Args {
    /// Reads a case and its values.
    ///
    /// # Errors
    ///
    /// If there is no case, or a name without a value.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let case = words.next().ok_or("a subject needs a case")?;
        let mut values = HashMap::new();
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            values.insert(name.trim_start_matches('-').to_owned(), value);
        }
        Ok(Self { case, values })
    }

    /// The value of `name`, as it was written.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The number that `name` has.
    ///
    /// # Errors
    ///
    /// If it has none.
    pub(crate) fn number(&self, name: &str) -> Result<f64, Failure> {
        let text = self.text(name).ok_or(format!("--{name} is missing"))?;
        Ok(text.parse()?)
    }

    /// Samples per second of CPU time.
    pub(crate) fn hz(&self) -> Result<u32, Failure> {
        Ok(self.number("hz")? as u32)
    }

    /// How long to work; nearly always meant as CPU time.
    pub(crate) fn seconds(&self) -> Result<Duration, Failure> {
        Ok(Duration::from_secs_f64(self.number("seconds")?))
    }

    /// Keeps a profile where the harness wants it, if it does.
    pub(crate) fn keep_profile(&self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(path) = self.text("profile") {
            std::fs::write(PathBuf::from(path), bytes)?;
        }
        Ok(())
    }
}
