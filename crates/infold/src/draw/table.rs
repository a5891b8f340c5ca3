//! A table with aligned columns and no lines, as terminals like it.

use super::style::{Style, Tone, columns};

/// What stands between two columns.
const GAP: &str = "  ";

/// Where a column's texts lean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column's heading and side.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The heading.
    pub heading: &'static str,
    /// Where its texts lean.
    pub align: Align,
}

/// Rows of texts, each with its tone.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; it has a text for each column.
    pub fn row(&mut self, cells: Vec<(Tone, String)>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The table without the columns in `may_go`, one after another, until it fits.
    pub fn dropped_to_fit(mut self, width: usize, may_go: &[&str]) -> Self {
        for heading in may_go {
            let widths: usize = (0..self.columns.len()).map(|at| self.width(at) + GAP.len()).sum();
            if widths.saturating_sub(GAP.len()) <= width {
                break;
            }
            if let Some(at) = self.columns.iter().position(|column| column.heading == *heading) {
                self.columns.remove(at);
                self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
        self
    }

    /// The table as text.
    pub fn draw(&self, style: &Style) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let headings = self.columns.iter().map(|column| (Tone::Strong, column.heading.to_owned())).collect();
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            text.push_str(&self.line(row, &widths, style));
            text.push('\n');
        }
        text
    }

    fn width(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| columns(&row[at].1)).max().unwrap_or(0);
        cells.max(columns(self.columns[at].heading))
    }

    fn line(&self, row: &[(Tone, String)], widths: &[usize], style: &Style) -> String {
        let mut line = String::new();
        for (at, (tone, text)) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at] - columns(text));
            let shown = style.tone(*tone, text);
            let is_last = at + 1 == row.len();
            match self.columns[at].align {
                Align::Left if is_last => line.push_str(&shown),
                Align::Left => line.push_str(&format!("{shown}{gap}{GAP}")),
                Align::Right if is_last => line.push_str(&format!("{gap}{shown}")),
                Align::Right => line.push_str(&format!("{gap}{shown}{GAP}")),
            }
        }
        line
    }
}

#[cfg(test)]
mod tests;
