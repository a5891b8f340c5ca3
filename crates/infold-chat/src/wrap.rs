//! Wraps toned text to a width, with hanging indents.
//!
//! What must hold: no line is wider than its width, what is seen as one character stays in one piece, and nothing is
//! left out but blanks at the places where lines are broken and marks that belong to no letter. A character that is wider than its whole line is replaced.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What is shown for a character that is wider than a whole line.
const TOO_WIDE: &str = "\u{fffd}";

/// Where a line may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// Between words and between wide characters; inside of a word only if it is longer than a line.
    BetweenWords,
    /// Anywhere, so that every blank stays: for code.
    Anywhere,
}

/// What begins the lines of a wrapped text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indent {
    /// What begins the first line.
    pub first: Vec<Span<'static>>,
    /// What begins every other line.
    pub rest: Vec<Span<'static>>,
}

impl Indent {
    /// No indent.
    pub fn none() -> Self {
        Self::default()
    }

    /// A mark in front of the first line, and as many blanks in front of the others.
    pub fn hanging(mark: Span<'static>) -> Self {
        let blanks = Span::raw(" ".repeat(mark.width()));
        Self { first: vec![mark], rest: vec![blanks] }
    }
}

/// Columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// Columns that spans take on a terminal.
pub fn columns_of(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| columns(&span.content)).sum()
}

/// Breaks a text into lines of at most `width` columns. There is always at least one line. An indent that would take
/// more than half of the width is cut.
pub fn wrapped(spans: &[Span<'_>], width: usize, indent: &Indent, breaks: Breaks) -> Vec<Line<'static>> {
    let width = width.max(1);
    let first = cut(&indent.first, width / 2);
    let rest = cut(&indent.rest, width / 2);
    let text = Joined::new(spans);
    let cells = text.cells();

    let mut lines = Vec::new();
    let mut from = 0;
    loop {
        let begin = if lines.is_empty() { &first } else { &rest };
        let room = width - columns_of(begin);
        let row = next_row(&cells[from..], room, breaks);
        lines.push(line(begin, &cells[from + row.shown.start..from + row.shown.end], room));
        from += row.next;
        if from >= cells.len() {
            return lines;
        }
    }
}

/// The spans as one line of at most `width` columns; dots are at its end if something was cut off.
pub fn fitted(spans: &[Span<'_>], width: usize) -> Line<'static> {
    let text = Joined::new(spans);
    let cells = text.cells();
    if cells.iter().map(|cell| cell.columns).sum::<usize>() <= width {
        return line(&[], &cells, width);
    }
    let kept = fitting(&cells, width.saturating_sub(1));
    let mut line = line(&[], &cells[..kept], width);
    if width > 0 {
        line.push_span(Span::styled("…", cells.get(kept).map_or(Style::default(), |cell| cell.style)));
    }
    line
}

/// As much of the spans as fits, without dots.
pub fn cut(spans: &[Span<'_>], width: usize) -> Vec<Span<'static>> {
    let text = Joined::new(spans);
    let cells = text.cells();
    line(&[], &cells[..fitting(&cells, width)], width).spans
}

/// One character as people see it.
struct Cell<'a> {
    text: &'a str,
    columns: usize,
    style: Style,
}

impl Cell<'_> {
    fn is_blank(&self) -> bool {
        self.text == " "
    }
}

/// The text of several spans as one, because what is seen as one character may begin in one and end in the next.
struct Joined {
    text: String,
    /// Where each style ends.
    styles: Vec<(usize, Style)>,
}

impl Joined {
    fn new(spans: &[Span<'_>]) -> Self {
        let mut joined = Self { text: String::new(), styles: Vec::new() };
        for span in spans {
            joined.text.push_str(&span.content);
            joined.styles.push((joined.text.len(), span.style));
        }
        joined
    }

    /// The characters that can be seen; each has the style that it begins in.
    fn cells(&self) -> Vec<Cell<'_>> {
        let mut styles = self.styles.iter().peekable();
        let styled = self.text.grapheme_indices(true).map(move |(at, text)| {
            while styles.next_if(|(end, _)| *end <= at).is_some() {}
            let style = styles.peek().map_or(Style::default(), |(_, style)| *style);
            Cell { text, columns: text.width(), style }
        });
        // A mark without a letter would join whatever is written before it.
        styled.filter(|cell| cell.columns > 0).collect()
    }
}

/// How many cells fit into the room.
fn fitting(cells: &[Cell], room: usize) -> usize {
    let mut used = 0;
    let over = cells.iter().position(|cell| {
        used += cell.columns;
        used > room
    });
    over.unwrap_or(cells.len())
}

/// One row: which cells are shown, and where the next row begins.
struct WrappedRow {
    shown: Range<usize>,
    next: usize,
}

fn next_row(cells: &[Cell], room: usize, breaks: Breaks) -> WrappedRow {
    let fitting = fitting(cells, room);
    if fitting == cells.len() {
        return WrappedRow { shown: 0..fitting, next: fitting };
    }
    // A character that does not fit even alone takes a row too, so that there is an end.
    let anywhere = fitting.max(1);
    let end = match breaks {
        Breaks::Anywhere => return WrappedRow { shown: 0..anywhere, next: anywhere },
        Breaks::BetweenWords => (1..=fitting).rev().find(|at| may_break(cells, *at)).unwrap_or(anywhere),
    };
    let blanks_before = cells[..end].iter().rev().take_while(|cell| cell.is_blank()).count();
    let blanks_after = cells[end..].iter().take_while(|cell| cell.is_blank()).count();
    // A row of nothing but blanks is the indent of a word that did not fit behind it.
    let shown = if blanks_before == end { 0..end } else { 0..end - blanks_before };
    WrappedRow { shown, next: end + blanks_after }
}

/// Whether a line may be broken in front of a cell: at blanks, and beside wide characters, which have none between them.
fn may_break(cells: &[Cell], at: usize) -> bool {
    let (before, after) = (&cells[at - 1], &cells[at]);
    let is_after_indent = cells[..at].iter().all(Cell::is_blank);
    let is_wide = |cell: &Cell| cell.columns > 1;
    !is_after_indent && (after.is_blank() || before.is_blank() || is_wide(before) || is_wide(after))
}

/// A line of cells; neighbours of one style are one span. Blanks of an indent before nothing are left out.
fn line(begin: &[Span<'static>], cells: &[Cell], room: usize) -> Line<'static> {
    let mut spans = begin.to_vec();
    while cells.is_empty()
        && let Some(last) = spans.last_mut()
    {
        let kept = last.content.trim_end().len();
        if kept > 0 {
            last.content = last.content[..kept].to_owned().into();
            break;
        }
        spans.pop();
    }
    for same in cells.chunk_by(|a, b| a.style == b.style) {
        let text = same.iter().map(|cell| if cell.columns > room { TOO_WIDE } else { cell.text });
        let style = same.first().map_or(Style::default(), |cell| cell.style);
        spans.push(Span::styled(text.collect::<String>(), style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests;
