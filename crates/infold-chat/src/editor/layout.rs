//! Where each character of the input is on the screen: lines are wrapped between words, and a cursor has its place behind
//! every one of them.
//!
//! What must hold: every character is in exactly one row. Rows leave the last column to the cursor, or to one blank, so
//! that the cursor behind a full row is still on the screen.

use std::ops::Range;

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::pastes::{Pastes, is_mark, shown_as};
use crate::tones::{Palette, Tone};
use crate::wrap::{columns, cut};

/// The rows of a text.
pub struct Layout<'a> {
    text: &'a str,
    pastes: &'a Pastes,
    width: usize,
    rows: Vec<Range<usize>>,
}

impl<'a> Layout<'a> {
    /// Wraps a text to a width. There is always at least one row.
    pub fn new(text: &'a str, pastes: &'a Pastes, width: usize) -> Self {
        let mut layout = Self { text, pastes, width, rows: Vec::new() };
        let mut start = 0;
        for line in text.split('\n') {
            layout.wrap(start, line);
            start += line.len() + 1;
        }
        layout
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The column and the row of a place in the text. Where a line is wrapped, the place is in the row below.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= offset).saturating_sub(1);
        let before = &self.text[self.rows[row].start..offset];
        (self.cells(before).map(|(_, columns)| columns).sum(), row)
    }

    /// The place in a row that is nearest to a column and not behind it.
    pub fn offset(&self, row: usize, goal_column: usize) -> usize {
        let range = self.rows[row].clone();
        let is_wrapped = self.rows.get(row + 1).is_some_and(|next| next.start == range.end);
        let (mut at, mut column) = (range.start, 0);
        for (text, columns) in self.cells(&self.text[range.clone()]) {
            let is_end = is_wrapped && at + text.len() == range.end;
            if column + columns > goal_column || is_end {
                break;
            }
            at += text.len();
            column += columns;
        }
        at
    }

    /// A row as it is shown.
    pub fn line(&self, row: usize, palette: Palette) -> Line<'static> {
        let mut line = Line::default();
        for part in self.text[self.rows[row].clone()].split_inclusive(is_mark) {
            let words = part.trim_end_matches(is_mark);
            let shown: String = self.cells(words).map(|(text, _)| shown_as(text, self.pastes)).collect();
            line.push_span(palette.span(Tone::Plain, shown));
            let label = part.chars().next_back().and_then(|mark| self.pastes.label(mark));
            label.into_iter().for_each(|label| line.push_span(palette.span(Tone::Accent, label)));
        }
        line.spans.retain(|span: &Span| !span.content.is_empty());
        line.spans = cut(&line.spans, self.width);
        line
    }

    /// The characters of a part of the text, each with its columns.
    fn cells<'b>(&'b self, part: &'b str) -> impl Iterator<Item = (&'b str, usize)> {
        let width = self.width;
        part.graphemes(true).map(move |text| (text, columns(shown_as(text, self.pastes)).min(width)))
    }

    fn wrap(&mut self, line_start: usize, line: &str) {
        let room = self.width.saturating_sub(1).max(1);
        let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
        let mut after_blank = None;
        let mut at = 0;
        for (text, columns) in self.cells(line) {
            let is_blank = text == " ";
            let fits = |used: usize| used + columns <= room || (is_blank && used <= room);
            while !fits(used) && at > start {
                let next = after_blank.filter(|blank| *blank > start).unwrap_or(at);
                rows.push(line_start + start..line_start + next);
                start = next;
                used = self.cells(&line[start..at]).map(|(_, columns)| columns).sum();
            }
            used += columns;
            at += text.len();
            if is_blank {
                after_blank = Some(at);
            }
        }
        rows.push(line_start + start..line_start + line.len());
        self.rows.extend(rows);
    }
}
