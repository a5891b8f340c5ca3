//! Long pastes, and what is attached: each is one character in the text, shown as a few words, and expands to all that was pasted.
//!
//! What must hold: the characters that mark pastes never get into the text in another way, so a mark always has its
//! paste. Pastes are only ever added, so that an erased mark can come back.

use crate::clean::{shown, visible};
use crate::numbers::{counted, grouped};

/// The first of the characters that mark pastes: they are for private use, and no font has them.
const FIRST_MARK: char = '\u{100000}';
const LAST_MARK: char = '\u{10fffd}';

/// A paste with more lines is shown as one word.
const LINES_MAX: usize = 20;

/// A paste with more characters is shown as one word.
const CHARACTERS_MAX: usize = 2_000;

/// What was pasted into one text.
#[derive(Debug, Default)]
pub struct Pastes {
    pastes: Vec<Paste>,
}

#[derive(Debug)]
struct Paste {
    text: String,
    label: String,
}

/// Whether a character marks a paste.
pub fn is_mark(character: char) -> bool {
    (FIRST_MARK..=LAST_MARK).contains(&character)
}

/// A character that was typed, unless it cannot be seen or would be taken for a mark.
pub fn typed(character: char) -> Option<char> {
    shown(character).filter(|same| *same == character && !is_mark(character))
}

fn is_long(text: &str) -> bool {
    text.lines().nth(LINES_MAX).is_some() || text.chars().nth(CHARACTERS_MAX).is_some()
}

impl Pastes {
    /// What to put into the text for a pasted text: the text itself, or a mark if it is long.
    pub fn take_in(&mut self, text: &str) -> String {
        // Terminals send pasted line ends as the Enter key does.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mark = if is_long(&text) { self.add(&text) } else { None };
        mark.map_or_else(|| visible(&text).replace(is_mark, ""), String::from)
    }

    /// What to put into the text for one that was erased before, in which there may be marks.
    pub fn take_back(&mut self, erased: &str) -> String {
        let mark = if is_long(erased) { self.add(&self.expanded(erased)) } else { None };
        mark.map_or_else(|| erased.to_owned(), String::from)
    }

    /// What to put into the text for something that is attached: one word, which is shown and sent as it is.
    pub fn attach(&mut self, label: &str) -> String {
        let label = visible(label).replace(is_mark, "");
        match self.next_mark() {
            Some(mark) => {
                self.pastes.push(Paste { text: label.clone(), label });
                mark.into()
            }
            None => label,
        }
    }

    fn next_mark(&self) -> Option<char> {
        let index = u32::try_from(self.pastes.len()).ok()?;
        char::from_u32(u32::from(FIRST_MARK) + index).filter(|mark| is_mark(*mark))
    }

    /// Remembers a long text, and gives its mark, unless all marks are taken.
    fn add(&mut self, text: &str) -> Option<char> {
        let mark = self.next_mark()?;
        let (lines, characters) = (text.lines().count(), text.chars().count());
        let size = if lines > 1 { counted(lines, "line") } else { counted(characters, "character") };
        let label = format!("[paste {}: {size}]", grouped(self.pastes.len() + 1));
        self.pastes.push(Paste { text: text.to_owned(), label });
        Some(mark)
    }

    /// How a mark is shown.
    pub fn label(&self, character: char) -> Option<&str> {
        self.find(character).map(|paste| &*paste.label)
    }

    /// The text with every mark replaced by what was pasted.
    pub fn expanded(&self, text: &str) -> String {
        let mut expanded = String::new();
        for character in text.chars() {
            match self.find(character) {
                Some(paste) => expanded.push_str(&paste.text),
                None => expanded.push(character),
            }
        }
        expanded
    }

    fn find(&self, character: char) -> Option<&Paste> {
        let index = u32::from(character).checked_sub(u32::from(FIRST_MARK))?;
        self.pastes.get(usize::try_from(index).ok()?)
    }
}

/// A character of the text as it is shown: a mark by its label, a tab by blanks.
pub fn shown_as<'a>(grapheme: &'a str, pastes: &'a Pastes) -> &'a str {
    match grapheme.chars().next() {
        Some('\t') => "    ",
        Some(mark) if is_mark(mark) => pastes.label(mark).unwrap_or_default(),
        Some(_) | None => grapheme,
    }
}
