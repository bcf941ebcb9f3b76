//! Standard output and standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use unicode_width::UnicodeWidthChar as _;

use crate::error::Result;

/// Headings of tables.
pub(crate) const HEADING: Style = Style::new().bold();
/// What is fine.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What wants attention.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// What is of less interest.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Where a command writes to.
pub(crate) struct Output {
    out: Box<dyn Write>,
    is_terminal: bool,
    /// How many columns there are, if somebody looks at them.
    width: Option<usize>,
    has_findings: bool,
}

impl Output {
    /// Colours are left to the terminal's abilities, `NO_COLOR` and `CLICOLOR`.
    pub(crate) fn of_process() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let size = is_terminal.then(terminal_size::terminal_size).flatten();
        Self {
            is_terminal,
            width: size.map(|(width, _)| usize::from(width.0)),
            out: Box::new(BufWriter::new(AutoStream::auto(stdout))),
            has_findings: false,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Something is not as it should be, and the exit status says so.
    pub(crate) fn find(&mut self) {
        self.has_findings = true;
    }

    /// One line on standard error about something that is not as it should be, and the
    /// exit status says so, too.
    pub(crate) fn complain(&mut self, problem: impl Display) {
        self.has_findings = true;
        // There is nobody to tell that it cannot be told.
        let _ = writeln!(
            anstream::stderr(),
            "{BAD}tachograph:{BAD:#} {}",
            escaped(&problem.to_string())
        );
    }

    /// Prints `value` as indented JSON. Every control character in it is escaped by
    /// the format.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result {
        serde_json::to_writer_pretty(&mut *self, value).map_err(io::Error::from)?;
        Ok(writeln!(self)?)
    }

    pub(crate) fn finish(&mut self) -> Result {
        Ok(self.out.flush()?)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.has_findings {
            true => ExitCode::from(1),
            false => ExitCode::SUCCESS,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// `text` with everything escaped that a terminal would act on: control characters,
/// and those that turn the direction of writing.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// How many columns `text` takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|it| it.width().unwrap_or(0)).sum()
}

/// `text`, shortened at its end to at most `width` columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let mut short = String::new();
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if columns > left {
            break;
        }
        left -= columns;
        short.push(character);
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Cells under headings. The last column gives way where the terminal is too narrow.
pub(crate) struct Grid {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// A text in a [`Grid`], not yet escaped.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            style: Style::new(),
        }
    }
}

impl Grid {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, mut cells: Vec<Cell>) {
        for cell in &mut cells {
            cell.text = escaped(&cell.text);
        }
        self.rows.push(cells);
    }

    pub(crate) fn print(&self, output: &mut Output) -> Result {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, (heading, _))| {
                let cells = self.rows.iter().map(|row| columns(&row[place].text));
                cells.chain([columns(heading)]).max().unwrap_or(0)
            })
            .collect();
        let heading: Vec<Cell> = self
            .columns
            .iter()
            .map(|(text, _)| Cell {
                text: (*text).to_owned(),
                style: HEADING,
            })
            .collect();
        for cells in std::iter::once(&heading).chain(&self.rows) {
            self.line(output, &widths, cells)?;
        }
        Ok(())
    }

    fn line(&self, output: &mut Output, widths: &[usize], cells: &[Cell]) -> Result {
        let last = cells.len() - 1;
        let mut used = 0;
        for (place, cell) in cells.iter().enumerate() {
            let gap = if place == 0 { 0 } else { 2 };
            let align = self.columns[place].1;
            let text = match output.width {
                Some(width) if place == last && align == Align::Left => {
                    cut(&cell.text, width.saturating_sub(used + gap).max(8))
                }
                _ => cell.text.clone(),
            };
            let padding = widths[place].saturating_sub(columns(&text));
            let (before, after) = match align {
                Align::Right => (padding, 0),
                Align::Left if place == last => (0, 0),
                Align::Left => (0, padding),
            };
            let style = cell.style;
            write!(
                output,
                "{:gap$}{:before$}{style}{text}{style:#}{:after$}",
                "", "", ""
            )?;
            used += gap + widths[place];
        }
        Ok(writeln!(output)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_escaped() {
        assert_eq!(escaped("a\x1b[31mb\r\n\u{9b}"), r"a\u{1b}[31mb\r\n\u{9b}");
        assert_eq!(escaped("x\u{202e}y\u{200b}"), r"x\u{202e}y\u{200b}");
        assert_eq!(escaped("größe<T>::東京"), "größe<T>::東京");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("東京都庁", 6), "東京…");
        assert_eq!(cut("abc", 0), "");
    }
}
