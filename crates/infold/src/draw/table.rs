//! A table for terminals: aligned columns, and no lines between them.

use super::style::{Style, Tone, columns};
use super::words::fitted;

/// The blanks between two columns.
const GAP: &str = "  ";

/// The side that a column's texts are aligned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// The heading of a column, by which the column is also found, and its alignment.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub heading: &'static str,
    pub align: Align,
}

/// A line in pieces, each with its tone.
pub type Spans = Vec<(Tone, String)>;

/// Rows of texts, each with its tone.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Spans>,
}

impl Table {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, which must have a text for each column.
    pub fn row(&mut self, cells: Spans) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The table without the column that has this heading, if there is one.
    pub fn without(mut self, heading: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|column| column.heading == heading) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        self
    }

    /// Leaves out the columns in `may_go`, one after another, until the table fits.
    pub fn dropped_to_fit(mut self, width: usize, may_go: &[&str]) -> Self {
        for heading in may_go {
            if self.columns_wide() <= width {
                break;
            }
            self = self.without(heading);
        }
        self
    }

    /// The same for a table with a column of names. Names are shortened to `name_columns` before another column is left
    /// out, and further once no column of `may_go` is left.
    pub fn cut_to_fit(mut self, name: &str, name_columns: usize, may_go: &[&str], style: &Style) -> Self {
        let mut may_go = may_go.iter();
        loop {
            let Some(at) = self.columns.iter().position(|column| column.heading == name) else { return self };
            let (wide, others) = (self.width(at), self.columns_wide() - self.width(at));
            let room = style.width.saturating_sub(others);
            if room < wide.min(name_columns)
                && let Some(heading) = may_go.next()
            {
                self = self.without(heading);
                continue;
            }
            let room = room.max(columns(name));
            self.rows.iter_mut().for_each(|row| row[at].1 = fitted(&row[at].1, room, style));
            return self;
        }
    }

    /// Whether there is a column with this heading.
    pub fn has(&self, heading: &str) -> bool {
        self.columns.iter().any(|column| column.heading == heading)
    }

    /// How many columns of a terminal it takes.
    pub fn columns_wide(&self) -> usize {
        let widths: usize = (0..self.columns.len()).map(|at| self.width(at) + GAP.len()).sum();
        widths.saturating_sub(GAP.len())
    }

    /// Draws the table as text, the headings first.
    pub fn draw(&self, style: &Style) -> String {
        let line = |line: &Spans| line.iter().map(|(tone, text)| style.tone(*tone, text)).collect::<String>() + "\n";
        self.lines().iter().map(line).collect()
    }

    /// The table line by line, the headings first.
    pub fn lines(&self) -> Vec<Spans> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let headings = self.columns.iter().map(|column| (Tone::Strong, column.heading.to_owned())).collect();
        std::iter::once(&headings).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn width(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| columns(&row[at].1)).max().unwrap_or(0);
        cells.max(columns(self.columns[at].heading))
    }

    fn line(&self, row: &[(Tone, String)], widths: &[usize]) -> Spans {
        let mut line = Vec::new();
        for (at, (tone, text)) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at] - columns(text));
            let is_last = at + 1 == row.len();
            let (before, after) = match self.columns[at].align {
                Align::Left if is_last => (String::new(), String::new()),
                Align::Left => (String::new(), format!("{gap}{GAP}")),
                Align::Right if is_last => (gap, String::new()),
                Align::Right => (gap, GAP.to_owned()),
            };
            line.extend([(Tone::Plain, before), (*tone, text.clone()), (Tone::Plain, after)]);
        }
        line
    }
}

#[cfg(test)]
mod tests;
