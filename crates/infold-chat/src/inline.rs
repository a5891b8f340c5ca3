//! An inline screen: what is finished goes into the terminal's own scrollback and stays there, and a live region of
//! changing height is below it.
//!
//! What must hold: after every frame, the terminal shows all finished lines in order and the live region after them. A
//! frame is one write. The cursor only moves relative to where it is, so nothing is asked of the terminal and any row
//! will do to begin on. A frame that changes nothing writes nothing. A line is cleared before it is written and not
//! after: behind a line that fills the screen's width the cursor is still on its last character. No line is padded, so
//! that what is copied is the text.
//!
//! How text is wrapped is left to others; what is wider than the screen is cut.

mod paint;

use std::io::{Result, Write};

use ratatui::layout::Size;
use ratatui::text::Line;

use crate::wrap::cut;

/// Brackets of a frame: a terminal that knows them shows it all at once. Lines do not wrap by themselves inside, so that
/// a character whose width a terminal sees differently cannot move the lines below.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
const HOME: &str = "\x1b[H";
const NEXT_LINE: &str = "\r\n";
const RESET: &str = "\x1b[0m";

/// A place in the live region: column and row, both from 0.
pub type CursorPlace = (u16, u16);

/// Writes finished lines and a live region to a terminal.
#[derive(Debug)]
pub struct InlineScreen<W: Write> {
    writer: W,
    size: Size,
    /// The rows of the live region as the terminal shows them. There is always one, if only a blank one.
    drawn: Vec<Line<'static>>,
    /// Where the cursor is shown.
    cursor: Option<CursorPlace>,
    /// The row of the live region that the terminal's cursor is in.
    row: usize,
    begun: Begun,
}

/// Whether the terminal is as the last frame left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Yes,
    /// Others have written since, so the next frame is written even if it is empty.
    NotYet,
}

impl<W: Write> InlineScreen<W> {
    /// A screen whose live region begins in the row of the cursor, which has to be blank.
    pub fn new(writer: W, size: Size) -> Self {
        Self { writer, size, drawn: vec![Line::default()], cursor: None, row: 0, begun: Begun::NotYet }
    }

    /// The size that lines have to fit.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Writes finished lines above the live region, and the live region as it is now. If the region is taller than the
    /// screen, its top is cut off. Without a place for the cursor, the cursor is hidden.
    pub fn frame(&mut self, finished: &[Line<'_>], live: &[Line<'_>], cursor: Option<CursorPlace>) -> Result<()> {
        let (live, cursor) = self.fitted(live, cursor);
        let is_same = finished.is_empty() && live == self.drawn && cursor == self.cursor;
        if is_same && self.begun == Begun::Yes {
            return Ok(());
        }
        let mut out = String::from(BEGIN);
        if finished.is_empty() {
            self.write_changed_rows(&mut out, &live);
        } else {
            self.move_to_row(&mut out, 0);
            self.write_from_top(&mut out, finished, &live);
        }
        self.end_frame(out, live, cursor)
    }

    /// After the terminal has a new size: clears what is visible, and writes the last lines of the transcript and the
    /// live region again, as many as fit. The terminal has wrapped its lines anew by itself, so nobody knows what is
    /// where. Nothing goes into the scrollback.
    pub fn resize(
        &mut self,
        size: Size,
        tail_of_transcript: &[Line<'_>],
        live: &[Line<'_>],
        cursor: Option<CursorPlace>,
    ) -> Result<()> {
        self.size = size;
        let (live, cursor) = self.fitted(live, cursor);
        let room = self.rows_max().saturating_sub(live.len());
        let tail = &tail_of_transcript[tail_of_transcript.len().saturating_sub(room)..];

        let mut out = format!("{BEGIN}{RESET}{HOME}{CLEAR_BELOW}");
        self.drawn = vec![Line::default()];
        self.write_from_top(&mut out, tail, &live);
        self.end_frame(out, live, cursor)
    }

    /// Ends the line below the live region, so that a shell or an editor can write there. The region stays where it is;
    /// the next frame begins a new one.
    pub fn suspend(&mut self) -> Result<()> {
        let mut out = String::from(BEGIN);
        self.move_to_row(&mut out, self.drawn.len() - 1);
        if self.drawn.len() > 1 || self.drawn[0].width() > 0 {
            out.push_str(NEXT_LINE);
        }
        out.push_str(RESET);
        out.push_str(SHOW_CURSOR);
        out.push_str(END);
        self.drawn = vec![Line::default()];
        (self.cursor, self.row, self.begun) = (None, 0, Begun::NotYet);
        self.write(&out)
    }

    /// Ends the screen like [`Self::suspend`] and gives the writer back. For the live region to be gone, write a frame
    /// without one first.
    pub fn leave(mut self) -> Result<W> {
        self.suspend()?;
        Ok(self.writer)
    }

    fn rows_max(&self) -> usize {
        usize::from(self.size.height).max(1)
    }

    /// The rows of a live region that fit, each cut to the width, and the place of the cursor among them.
    fn fitted(&self, live: &[Line<'_>], cursor: Option<CursorPlace>) -> (Vec<Line<'static>>, Option<CursorPlace>) {
        let over = live.len().saturating_sub(self.rows_max());
        let rows: Vec<_> = live[over..].iter().map(|line| self.cut_line(line)).collect();
        let cursor = cursor.and_then(|(column, row)| {
            let row = usize::from(row).checked_sub(over).filter(|row| *row < rows.len().max(1))?;
            let column = column.min(self.size.width.saturating_sub(1));
            Some((column, u16::try_from(row).ok()?))
        });
        (if rows.is_empty() { vec![Line::default()] } else { rows }, cursor)
    }

    fn cut_line(&self, line: &Line<'_>) -> Line<'static> {
        let mut line = paint::seen(line);
        let width = usize::from(self.size.width);
        if line.width() > width {
            line.spans = cut(&line.spans, width);
        }
        line
    }

    /// Writes only rows that differ from what the terminal shows, and clears rows that are gone.
    fn write_changed_rows(&mut self, out: &mut String, live: &[Line<'static>]) {
        let before = std::mem::take(&mut self.drawn);
        for (row, line) in live.iter().enumerate() {
            if row >= before.len() {
                // A new row: the line end makes the terminal scroll if there is none below.
                self.move_to_row(out, row - 1);
                out.push_str(NEXT_LINE);
                self.row = row;
            } else if before[row] == *line {
                continue;
            }
            self.move_to_row(out, row);
            out.push_str(CLEAR_LINE);
            paint::write_line(out, line);
        }
        if live.len() < before.len() {
            self.move_to_row(out, live.len());
            out.push_str(CLEAR_BELOW);
        }
    }

    /// Writes all rows anew, from the top row of the live region on, where the cursor has to be.
    fn write_from_top(&mut self, out: &mut String, finished: &[Line<'_>], live: &[Line<'static>]) {
        for line in finished {
            out.push_str(CLEAR_LINE);
            paint::write_line(out, &self.cut_line(line));
            out.push_str(NEXT_LINE);
        }
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                out.push_str(NEXT_LINE);
            }
            out.push_str(CLEAR_LINE);
            paint::write_line(out, line);
        }
        self.row = live.len() - 1;
        if finished.len() + live.len() < self.drawn.len() {
            // There is a row of the old region below, so the line end cannot make the terminal scroll.
            out.push_str(NEXT_LINE);
            out.push_str(CLEAR_BELOW);
            self.row += 1;
        }
    }

    /// Moves to the first column of a row that the terminal has already.
    fn move_to_row(&mut self, out: &mut String, row: usize) {
        out.push('\r');
        match row.cmp(&self.row) {
            std::cmp::Ordering::Less => out.push_str(&format!("\x1b[{}A", self.row - row)),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => out.push_str(&format!("\x1b[{}B", row - self.row)),
        }
        self.row = row;
    }

    fn end_frame(&mut self, mut out: String, live: Vec<Line<'static>>, cursor: Option<CursorPlace>) -> Result<()> {
        let (column, row) = cursor.map_or((0, live.len() - 1), |(column, row)| (column, usize::from(row)));
        self.move_to_row(&mut out, row);
        if column > 0 {
            out.push_str(&format!("\x1b[{column}C"));
        }
        if cursor.is_some() {
            out.push_str(SHOW_CURSOR);
        }
        out.push_str(END);
        (self.drawn, self.cursor, self.begun) = (live, cursor, Begun::Yes);
        self.write(&out)
    }

    fn write(&mut self, out: &str) -> Result<()> {
        self.writer.write_all(out.as_bytes())?;
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests;
