//! Tables: columns as wide as their cells where there is room, narrower ones with wrapped cells where there is less, and
//! a plain list of cells where even that does not fit.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::Appearance;
use crate::tones::Tone;
use crate::wrap::{Breaks, Indent, columns_of, wrapped};

/// What is between two columns, and below the head.
const BETWEEN: &str = " │ ";
const CROSSING: &str = "─┼─";
const BETWEEN_COLUMNS: usize = 3;

/// A column is not made narrower than this.
const COLUMN_WIDTH_MIN: usize = 6;

type CellText = Vec<Span<'static>>;

/// The rows of a table; the first one is its head.
pub struct TableRows {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<CellText>>,
}

impl TableRows {
    /// A table without rows.
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    /// Begins the next row.
    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the row that was begun last.
    pub fn add_cell(&mut self, cell: CellText) {
        self.rows.iter_mut().last().into_iter().for_each(|row| row.push(cell.clone()));
    }

    /// The lines of the table.
    pub fn lines(mut self, indent: &Indent, appearance: &Appearance) -> Vec<Line<'static>> {
        for span in self.rows.iter_mut().take(1).flatten().flatten() {
            span.style = span.style.add_modifier(Modifier::BOLD);
        }
        let room = appearance.width.saturating_sub(columns_of(&indent.first));
        let inside = match self.widths(room) {
            Some(widths) => self.grid(&widths, appearance),
            None => self.list(room.max(1), appearance),
        };
        let mut indent = indent.clone();
        let indented = inside.into_iter().flat_map(|line| {
            let lines = wrapped(&line.spans, appearance.width, &indent, Breaks::Anywhere);
            indent.first = indent.rest.clone();
            lines
        });
        indented.collect()
    }

    /// How wide each column is; nothing if there is not enough room.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let column = |index: usize| self.rows.iter().filter_map(move |row| row.get(index));
        let widest = |index| column(index).map(|cell| columns_of(cell)).max().unwrap_or(0).max(1);
        let natural: Vec<usize> = (0..self.alignments.len()).map(widest).collect();
        let room = room.checked_sub(BETWEEN_COLUMNS * natural.len().saturating_sub(1))?;
        let needed = |width_max: usize| natural.iter().map(|width| (*width).min(width_max)).sum::<usize>();
        // The widest columns give way first.
        let width_max = (COLUMN_WIDTH_MIN..=room).rev().find(|width_max| needed(*width_max) <= room)?;
        let mut left = room - needed(width_max);
        let widths = natural.iter().map(|width| {
            let more = usize::from(*width > width_max && left > 0);
            left -= more;
            (*width).min(width_max) + more
        });
        Some(widths.collect())
    }

    fn grid(&self, widths: &[usize], appearance: &Appearance) -> Vec<Line<'static>> {
        let faint = |text: String| appearance.palette.span(Tone::Faint, text);
        let line = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(CROSSING);
        let rows: Vec<Vec<Line>> = self.rows.iter().map(|row| self.grid_row(row, widths, appearance)).collect();
        // Cells of several lines need something between the rows.
        let is_wrapped = rows.iter().any(|row| row.len() > 1);
        let mut lines = Vec::new();
        for (at, row) in rows.into_iter().enumerate() {
            if at == 1 || (at > 1 && is_wrapped) {
                lines.push(Line::from(faint(line.clone())));
            }
            lines.extend(row);
        }
        lines
    }

    fn grid_row(&self, row: &[CellText], widths: &[usize], appearance: &Appearance) -> Vec<Line<'static>> {
        let wrap = |(cell, width): (&CellText, &usize)| wrapped(cell, *width, &Indent::none(), Breaks::BetweenWords);
        let cells: Vec<Vec<Line>> = row.iter().zip(widths).map(wrap).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let mut spans = Vec::new();
            for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if index > 0 {
                    spans.push(appearance.palette.span(Tone::Faint, BETWEEN));
                }
                let cell = cell.get(at).map(|line| line.spans.clone()).unwrap_or_default();
                spans.extend(aligned(cell, *width, self.alignments[index]));
            }
            Line::from(without_blanks_at_end(spans))
        };
        (0..height).map(line).collect()
    }

    /// Each row as lines of a heading and a cell.
    fn list(&self, room: usize, appearance: &Appearance) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let (head, rows) = self.rows.split_first().map_or((&[][..], &[][..]), |(head, rows)| (&head[..], rows));
        let only_head = [head.to_vec()];
        let (head, rows) = if rows.is_empty() { (&[][..], &only_head[..]) } else { (head, rows) };
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                lines.push(Line::default());
            }
            for (index, cell) in row.iter().enumerate() {
                let mut spans = head.get(index).cloned().unwrap_or_default();
                if !spans.is_empty() {
                    spans.push(appearance.palette.span(Tone::Faint, ": "));
                }
                spans.extend(cell.iter().cloned());
                lines.extend(wrapped(&spans, room, &Indent::none(), Breaks::BetweenWords));
            }
        }
        lines
    }
}

fn aligned(cell: CellText, width: usize, alignment: Alignment) -> Vec<Span<'static>> {
    let blanks = width.saturating_sub(columns_of(&cell));
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => blanks / 2,
        Alignment::Right => blanks,
    };
    let pad = |blanks: usize| Span::raw(" ".repeat(blanks));
    let spans = [pad(before)].into_iter().chain(cell).chain([pad(blanks - before)]);
    spans.filter(|span| !span.content.is_empty()).collect()
}

fn without_blanks_at_end(mut spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    while spans.last().is_some_and(|span| span.content.trim().is_empty()) {
        spans.pop();
    }
    spans
}
