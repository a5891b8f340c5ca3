//! What is different between two texts, as lines with numbers and signs.
//!
//! What must hold: signs say what tones say, so that it can be read without colour. No line is wider than the width, and
//! there are no more lines than asked for. Nothing in the texts steers the terminal.
//!
//! Comparing very different long texts takes long, so it has a time limit, after which what is left counts as replaced.

use std::time::Duration;

use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::clean::visible_in_line;
use crate::numbers::counted;
use crate::tones::{Palette, Tone};
use crate::wrap::{Breaks, Indent, fitted, wrapped};

/// How long two texts are compared.
const COMPARE_TIME_MAX: Duration = Duration::from_millis(200);

/// A line of a text takes at most this many rows.
const ROWS_MAX: usize = 8;

/// How a difference is shown.
#[derive(Debug, Clone, Copy)]
pub struct DiffLayout {
    /// Columns of a line.
    pub width: usize,
    /// How tones look.
    pub palette: Palette,
    /// Lines around a change that are shown with it.
    pub context_lines: usize,
    /// Most lines; if there are more, the last one says how many.
    pub lines_max: usize,
}

/// A difference as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDiff {
    /// The lines; none if the texts are the same.
    pub lines: Vec<Line<'static>>,
    /// How many lines the second text has that are not in the first.
    pub added: usize,
    /// How many lines of the first text are not in the second.
    pub removed: usize,
}

/// Shows what is different between a text and what it becomes.
pub fn diff(before: &str, after: &str, layout: &DiffLayout) -> ShownDiff {
    let compared = TextDiff::configure().timeout(COMPARE_TIME_MAX).diff_lines(before, after);
    let numbers = compared.old_slices().len().max(compared.new_slices().len()).to_string().len();
    let mut shown = DiffLines { layout, numbers, parts: Vec::new(), lines: 0, left_out: 0 };
    let (mut added, mut removed) = (0, 0);
    for (at, group) in compared.grouped_ops(layout.context_lines).iter().enumerate() {
        if at > 0 {
            shown.add_break();
        }
        for change in group.iter().flat_map(|operation| compared.iter_changes(operation)) {
            match change.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
            let index = change.new_index().or(change.old_index()).unwrap_or(0);
            shown.add(DiffRow { tag: change.tag(), number: index + 1, text: change.value() });
        }
    }
    ShownDiff { lines: shown.finish(), added, removed }
}

/// A line of one of the texts.
struct DiffRow<'a> {
    tag: ChangeTag,
    number: usize,
    text: &'a str,
}

struct DiffLines<'a> {
    layout: &'a DiffLayout,
    /// Columns of a line's number.
    numbers: usize,
    parts: Vec<DiffPart>,
    /// How many lines all parts have.
    lines: usize,
    /// How many lines of the texts were left out.
    left_out: usize,
}

/// What is shown or left out as one.
enum DiffPart {
    /// A line of one of the texts, which may take several rows.
    OfText(Vec<Line<'static>>),
    /// Lines that are the same in both texts are not shown here.
    Break(Line<'static>),
}

impl DiffPart {
    fn lines(&self) -> usize {
        match self {
            Self::OfText(lines) => lines.len(),
            Self::Break(_) => 1,
        }
    }
}

impl DiffLines<'_> {
    fn add(&mut self, row: DiffRow<'_>) {
        // What is too much is only counted.
        if self.lines > self.layout.lines_max {
            self.left_out += 1;
            return;
        }
        let rows = self.rows(&row);
        self.lines += rows.len();
        self.parts.push(DiffPart::OfText(rows));
    }

    fn add_break(&mut self) {
        if self.lines <= self.layout.lines_max {
            let dots = format!("{:>1$}", "⋮", self.numbers);
            self.parts.push(DiffPart::Break(fitted(&[self.layout.palette.span(Tone::Faint, dots)], self.layout.width)));
            self.lines += 1;
        }
    }

    /// All lines if they fit, or else as many as leave room for one that says how many are missing.
    fn finish(mut self) -> Vec<Line<'static>> {
        let is_over = self.lines > self.layout.lines_max;
        while is_over
            && self.lines + 1 > self.layout.lines_max
            && let Some(part) = self.parts.pop()
        {
            self.lines -= part.lines();
            self.left_out += usize::from(matches!(part, DiffPart::OfText(_)));
        }
        let mut lines: Vec<Line<'static>> = Vec::new();
        for part in self.parts {
            match part {
                DiffPart::OfText(rows) => lines.extend(rows),
                DiffPart::Break(row) => lines.push(row),
            }
        }
        if is_over {
            let more = format!("… {}", counted(self.left_out, "more line"));
            lines.push(fitted(&[self.layout.palette.span(Tone::Faint, more)], self.layout.width));
        }
        lines
    }

    /// The rows of one line: its number, its sign, and its text, wrapped under each other.
    fn rows(&self, row: &DiffRow<'_>) -> Vec<Line<'static>> {
        let (palette, width) = (self.layout.palette, self.layout.width.max(1));
        let (sign, tone) = match row.tag {
            ChangeTag::Equal => (' ', Tone::Plain),
            ChangeTag::Delete => ('-', Tone::Removed),
            ChangeTag::Insert => ('+', Tone::Added),
        };
        let number = palette.span(Tone::Faint, format!("{:>1$} ", row.number, self.numbers));
        let blanks = Span::raw(" ".repeat(self.numbers + 3));
        let indent = Indent { first: vec![number, palette.span(tone, format!("{sign} "))], rest: vec![blanks] };
        let text = fitted(&[palette.span(tone, shown_text(row))], width.saturating_mul(ROWS_MAX));
        let mut rows = wrapped(&text.spans, width, &indent, Breaks::Anywhere);
        if row.tag != ChangeTag::Equal && !row.text.ends_with('\n') {
            let note = [palette.span(Tone::Faint, "\\ no line end")];
            rows.extend(wrapped(&note, width, &Indent { first: indent.rest.clone(), ..indent }, Breaks::Anywhere));
        }
        rows
    }
}

/// The text of a line without its end. In a line that changed, an end that terminals do not show is made visible.
fn shown_text(row: &DiffRow<'_>) -> String {
    let text = row.text.strip_suffix('\n').unwrap_or(row.text);
    let text = match row.tag {
        ChangeTag::Equal => text.to_owned(),
        ChangeTag::Delete | ChangeTag::Insert => text.replace('\r', "␍"),
    };
    visible_in_line(&text.replace('\t', "    ")).into_owned()
}

#[cfg(test)]
mod tests;
