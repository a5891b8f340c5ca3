//! A text with a cursor, the ways to go in it, and what can be undone.
//!
//! What must hold: the cursor is inside of the text and between characters. Undoing costs as much as was changed, not as
//! much as there is, so that a text that comes in key by key stays cheap.

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::keys::Motion;
use super::pastes::is_mark;

/// How many changes can be undone.
const CHANGES_MAX: usize = 1_000;

/// A text with a cursor.
#[derive(Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    changes: VecDeque<TextChange>,
}

/// One change, as it is needed to undo it.
#[derive(Debug)]
struct TextChange {
    at: usize,
    removed: String,
    /// Bytes that were put in.
    inserted: usize,
    cursor_before: usize,
}

impl Buffer {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the cursor is, in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor.
    pub fn move_to(&mut self, target: usize) {
        self.cursor = target;
    }

    /// Puts a text in at the cursor. Letters of one word are undone together.
    pub fn insert(&mut self, text: &str) {
        let (at, typed_before) = (self.cursor, self.text[..self.cursor].chars().next_back());
        let goes_on = typed_before.is_some_and(|before| !before.is_whitespace()) && text.chars().nth(1).is_none();
        match self.changes.back_mut() {
            Some(last) if goes_on && last.inserted > 0 && last.at + last.inserted == at => {
                last.inserted += text.len();
                self.text.insert_str(at, text);
                self.cursor += text.len();
            }
            Some(_) | None => {
                self.replace(at..at, text);
            }
        }
    }

    /// Replaces a part of the text, leaves the cursor behind it, and gives what was there.
    pub fn replace(&mut self, range: Range<usize>, with: &str) -> String {
        let removed = self.text[range.clone()].to_owned();
        self.text.replace_range(range.clone(), with);
        let change =
            TextChange { at: range.start, removed: removed.clone(), inserted: with.len(), cursor_before: self.cursor };
        self.changes.push_back(change);
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
        self.cursor = range.start + with.len();
        removed
    }

    /// Takes the last change back; false if there is none.
    pub fn undo(&mut self) -> bool {
        let Some(change) = self.changes.pop_back() else { return false };
        self.text.replace_range(change.at..change.at + change.inserted, &change.removed);
        self.cursor = change.cursor_before;
        true
    }

    /// Where a motion leads from the cursor.
    pub fn target(&self, motion: Motion) -> usize {
        match motion {
            Motion::Left => self.before(),
            Motion::Right => self.behind(),
            Motion::WordLeft => self.word_left(),
            Motion::WordRight => self.word_right(),
            Motion::BlankLeft => self.blank_left(),
            Motion::LineStart => self.line_start(),
            Motion::LineEnd => self.line_end(),
            Motion::LineStartOrOver if self.line_start() == self.cursor => self.before(),
            Motion::LineStartOrOver => self.line_start(),
            Motion::LineEndOrOver if self.line_end() == self.cursor => self.behind(),
            Motion::LineEndOrOver => self.line_end(),
            Motion::TextStart => 0,
            Motion::TextEnd => self.text.len(),
        }
    }

    /// Where the character before the cursor begins.
    fn before(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    /// Where the character behind the cursor ends.
    fn behind(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let end = before.trim_end_matches(|character| !is_of_word(character) && !is_mark(character));
        if end.ends_with(is_mark) { without_last(end) } else { end.trim_end_matches(is_of_word).len() }
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let start = after.trim_start_matches(|character| !is_of_word(character) && !is_mark(character));
        let rest = match start.strip_prefix(is_mark) {
            Some(rest) => rest,
            None => start.trim_start_matches(is_of_word),
        };
        self.text.len() - rest.len()
    }

    fn blank_left(&self) -> usize {
        let end = self.text[..self.cursor].trim_end();
        let is_inside = |character: char| !character.is_whitespace() && !is_mark(character);
        if end.ends_with(is_mark) { without_last(end) } else { end.trim_end_matches(is_inside).len() }
    }
}

/// Letters, figures, and the marks that people see as part of them.
fn is_of_word(character: char) -> bool {
    let is_joined = unicode_width::UnicodeWidthChar::width(character) == Some(0);
    character.is_alphanumeric() || character == '_' || is_joined
}

fn without_last(text: &str) -> usize {
    text.char_indices().next_back().map_or(0, |(at, _)| at)
}
