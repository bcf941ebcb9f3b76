//! Rows, and how they look.

use std::collections::BTreeMap;

use super::spread::Spread;
use super::subjects::Subject;

/// A line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) bar: String,
    cells: BTreeMap<Subject, String>,
    /// Whether the project's sampler for Linux holds the bar; `None` without a
    /// bar, or if it was not measured.
    pub(crate) holds: Option<bool>,
    has_bar: bool,
    /// What bounds the number from below, should the bar be missed.
    pub(crate) limit: &'static str,
    /// What else was seen, one line each.
    pub(crate) notes: Vec<String>,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, bar: impl Into<String>) -> Self {
        let bar = bar.into();
        Self {
            what: what.into(),
            has_bar: !bar.is_empty(),
            bar,
            cells: BTreeMap::new(),
            holds: None,
            limit: "",
            notes: Vec::new(),
        }
    }

    /// What limits the number, in case it misses the bar.
    pub(crate) fn limited_by(mut self, limit: &'static str) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the cell of `subject`, if there is something to set.
    pub(crate) fn cell(&mut self, subject: Subject, spread: &Spread, decimals: usize, unit: &str) {
        if !spread.is_empty() {
            self.text(subject, format!("{}{unit}", spread.show(decimals)));
        }
    }

    pub(crate) fn text(&mut self, subject: Subject, text: impl Into<String>) {
        self.cells.insert(subject, text.into());
    }

    /// Says whether `spread`, that of the project's sampler for Linux, holds the
    /// bar: whether its median does.
    pub(crate) fn judge(&mut self, spread: &Spread, holds: impl Fn(f64) -> bool) {
        if self.has_bar && !spread.is_empty() {
            self.holds = Some(holds(spread.median()));
        }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The cell of `subject`.
    pub(crate) fn shown(&self, subject: Subject) -> &str {
        self.cells.get(&subject).map_or("–", String::as_str)
    }

    /// Whether the bar is held, in a word.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "**missed**",
            None if self.has_bar => "not judged",
            None => "",
        }
    }
}

/// The rows as a table in Markdown, padded so that it reads as plain text too.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut lines = vec![header()];
    lines.extend(rows.iter().map(|row| {
        let mut line = vec![row.what.clone(), row.bar.clone(), row.verdict().to_owned()];
        line.extend(
            Subject::COLUMNS
                .iter()
                .map(|subject| row.shown(*subject).to_owned()),
        );
        line
    }));
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| {
            let width = lines.iter().map(|line| line[column].chars().count()).max();
            width.unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if number == 0 {
            let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            text.push_str(&format!("| {} |\n", dashes.join(" | ")));
        }
    }
    text
}

fn header() -> Vec<String> {
    let mut line = vec!["what".to_owned(), "bar".to_owned(), "bar is".to_owned()];
    line.extend(
        Subject::COLUMNS
            .iter()
            .map(|subject| subject.name().to_owned()),
    );
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_held_or_missed_by_the_median() {
        let spread: Spread = [1.0, 2.0, 9.0].into_iter().collect();
        let mut row = Row::new("time", "≤ 2");
        assert_eq!(row.verdict(), "not judged");
        row.judge(&spread, |median| median <= 2.0);
        assert_eq!(row.verdict(), "holds");
        row.judge(&spread, |median| median <= 1.0);
        assert_eq!(row.verdict(), "**missed**");
        let mut row = Row::new("time", "");
        row.judge(&spread, |_| false);
        assert_eq!(row.verdict(), "");
    }

    #[test]
    fn every_line_is_as_wide_as_the_others() {
        let mut row = Row::new("CPU", "≤ 2 µs");
        row.text(Subject::Linux, "1 µs");
        let text = render(&[row]);
        let widths: Vec<_> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.len(), 3);
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    }
}
