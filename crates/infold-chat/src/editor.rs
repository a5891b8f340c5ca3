//! The input: a text of several lines with a cursor, its keys, its history, and long pastes that are shown as one word.
//!
//! What must hold: the cursor is always at the edge of a character, and every view shows it. What was pasted is sent
//! whole, however short it is shown. Nothing that is typed or pasted is lost by looking through the history: the draft
//! comes back.
//!
//! Completion, and what a sent text leads to, is left to others.

mod buffer;
mod history;
mod keys;
mod layout;
mod pastes;

use std::ops::Range;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use crate::tones::Palette;
use buffer::Buffer;
use keys::{Direction, EditorCommand, Erased, Motion};
use layout::Layout;
use pastes::Pastes;

pub use history::History;

/// Columns before a view has said how many there are.
const WIDTH_AT_FIRST: usize = 80;

/// The input.
#[derive(Debug)]
pub struct Editor {
    palette: Palette,
    buffer: Buffer,
    pastes: Pastes,
    history: History,
    /// What was erased last, by a key that erases more than one character.
    erased: String,
    /// The column that moves up and down keep to, over lines that are shorter.
    goal_column: Option<usize>,
    /// The first row of the last view.
    top: usize,
    width: usize,
}

/// What a key led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorOutcome {
    /// The text or the cursor may be different now.
    Changed,
    /// The person wants to send the text: [`Editor::take`] gives it.
    Submit,
    /// The key means nothing here.
    Ignored,
}

/// What is shown of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorView {
    /// The rows, none of them wider than asked for.
    pub lines: Vec<Line<'static>>,
    /// The column and the row of the cursor, both from 0.
    pub cursor: (u16, u16),
}

impl Editor {
    /// An empty input.
    pub fn new(palette: Palette, history: History) -> Self {
        Self {
            palette,
            buffer: Buffer::default(),
            pastes: Pastes::default(),
            history,
            erased: String::new(),
            goal_column: None,
            top: 0,
            width: WIDTH_AT_FIRST,
        }
    }

    /// The whole text, with all that was pasted.
    pub fn text(&self) -> String {
        self.pastes.expanded(self.buffer.text())
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// The texts that were sent, the oldest first.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Takes the whole text to send it, remembers it in the history, and leaves the input empty.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.history.push(&text);
        self.clear();
        text
    }

    /// Leaves the input empty. What was erased can still be put back.
    pub fn clear(&mut self) {
        self.erased = self.pastes.expanded(&self.erased).replace(pastes::is_mark, "");
        self.buffer = Buffer::default();
        self.pastes = Pastes::default();
        self.history.stop_looking();
        self.goal_column = None;
        self.top = 0;
    }

    /// Replaces the whole text; the cursor is at its end.
    pub fn set_text(&mut self, text: &str) {
        let shown = self.pastes.take_in(text);
        self.buffer.replace(0..self.buffer.text().len(), &shown);
        self.goal_column = None;
    }

    /// Puts a pasted text in at the cursor. A long one is shown as one word.
    pub fn paste(&mut self, text: &str) {
        let shown = self.pastes.take_in(text);
        self.put(&shown);
    }

    /// Puts something that is attached in at the cursor: it is one word, which a key erases.
    pub fn attach(&mut self, label: &str) {
        let shown = self.pastes.attach(label);
        self.put(&shown);
    }

    /// The text with one character in place of each long paste and of what is attached.
    pub fn short_text(&self) -> &str {
        self.buffer.text()
    }

    /// Where the cursor is in that text, in bytes.
    pub fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    /// Replaces a part of that text by something that is attached. The cursor stays where it was in the rest.
    pub fn replace_by_attached(&mut self, range: Range<usize>, label: &str) {
        let cursor = self.buffer.cursor();
        let shown = self.pastes.attach(label);
        let (start, end) = (range.start, range.end);
        self.buffer.replace(range, &shown);
        if cursor < start {
            self.buffer.move_to(cursor);
        } else if cursor > end {
            self.buffer.move_to(cursor - end + start + shown.len());
        }
        self.goal_column = None;
    }

    /// The part of the word at the cursor that is in front of it: `/comp`, `@src/ma`, or nothing behind a blank.
    pub fn word_before_cursor(&self) -> &str {
        &self.buffer.text()[self.word_range()]
    }

    /// Everything in front of that word.
    pub fn before_word(&self) -> &str {
        &self.buffer.text()[..self.word_range().start]
    }

    /// Replaces the word before the cursor.
    pub fn replace_word(&mut self, with: &str) {
        let shown = self.pastes.take_in(with);
        self.buffer.replace(self.word_range(), &shown);
        self.goal_column = None;
    }

    /// Does what a key means.
    pub fn key(&mut self, event: KeyEvent) -> EditorOutcome {
        let Some(command) = keys::command(event) else { return EditorOutcome::Ignored };
        let goal_column = self.goal_column.take();
        match command {
            EditorCommand::Submit => return EditorOutcome::Submit,
            EditorCommand::Insert(character) => match pastes::typed(character) {
                Some(character) => self.put(character.encode_utf8(&mut [0; 4])),
                None => return EditorOutcome::Ignored,
            },
            EditorCommand::NewLine => self.put("\n"),
            EditorCommand::Move(motion) => self.buffer.move_to(self.buffer.target(motion)),
            EditorCommand::Erase(motion, erased) => return self.erase(motion, erased),
            EditorCommand::Yank if self.erased.is_empty() => return EditorOutcome::Ignored,
            EditorCommand::Yank => {
                let erased = self.pastes.take_back(&self.erased);
                self.put(&erased);
            }
            EditorCommand::Undo if !self.buffer.undo() => return EditorOutcome::Ignored,
            EditorCommand::Undo => {}
            EditorCommand::Row(direction) => return self.move_row(direction, goal_column),
        }
        EditorOutcome::Changed
    }

    /// The rows of the text around the cursor, at most `height_max` of them and none wider than `width`. They begin
    /// where they did in the last view if the cursor is still in them.
    pub fn view(&mut self, width: usize, height_max: usize) -> EditorView {
        self.width = width.max(1);
        let height_max = height_max.max(1);
        let layout = self.layout();
        let (column, row) = layout.place(self.buffer.cursor());
        let last_top = layout.rows().saturating_sub(height_max);
        let top = self.top.clamp((row + 1).saturating_sub(height_max), row).min(last_top);

        let lines = (top..layout.rows().min(top + height_max)).map(|row| layout.line(row, self.palette)).collect();
        let cursor = (short(column.min(self.width - 1)), short(row - top));
        self.top = top;
        EditorView { lines, cursor }
    }

    fn layout(&self) -> Layout<'_> {
        Layout::new(self.buffer.text(), &self.pastes, self.width)
    }

    fn put(&mut self, text: &str) {
        self.goal_column = None;
        self.buffer.insert(text);
    }

    fn word_range(&self) -> Range<usize> {
        let end = self.buffer.cursor();
        let before = &self.buffer.text()[..end];
        let is_edge = |character: char| character.is_whitespace() || pastes::is_mark(character);
        let edge = before.char_indices().rev().find(|(_, character)| is_edge(*character));
        edge.map_or(0, |(at, character)| at + character.len_utf8())..end
    }

    fn erase(&mut self, motion: Motion, erased: Erased) -> EditorOutcome {
        let (cursor, target) = (self.buffer.cursor(), self.buffer.target(motion));
        if cursor == target {
            return EditorOutcome::Ignored;
        }
        let removed = self.buffer.replace(cursor.min(target)..cursor.max(target), "");
        match erased {
            Erased::Kept => self.erased = removed,
            Erased::Dropped => {}
        }
        EditorOutcome::Changed
    }

    fn move_row(&mut self, direction: Direction, goal_column: Option<usize>) -> EditorOutcome {
        let layout = self.layout();
        let (column, row) = layout.place(self.buffer.cursor());
        let goal = goal_column.unwrap_or(column);
        let next = match direction {
            Direction::Up => row.checked_sub(1),
            Direction::Down => Some(row + 1).filter(|next| *next < layout.rows()),
        };
        match next {
            Some(next) => {
                let target = layout.offset(next, goal);
                self.buffer.move_to(target);
                self.goal_column = Some(goal);
                EditorOutcome::Changed
            }
            None => self.look_through_history(direction),
        }
    }

    fn look_through_history(&mut self, direction: Direction) -> EditorOutcome {
        let found = match direction {
            Direction::Up => self.history.older(self.buffer.text()),
            Direction::Down => self.history.newer(),
        };
        let edge = match direction {
            Direction::Up => 0,
            Direction::Down => self.buffer.text().len(),
        };
        match found {
            Some(history::HistoryText::Entry(text)) => self.set_text(&text),
            Some(history::HistoryText::Draft(shown)) => {
                self.buffer.replace(0..self.buffer.text().len(), &shown);
            }
            None if self.buffer.cursor() == edge => return EditorOutcome::Ignored,
            None => self.buffer.move_to(edge),
        }
        EditorOutcome::Changed
    }
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
