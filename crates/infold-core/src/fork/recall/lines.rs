//! The lines of a piece as they are shown: each only once in the whole context, without margins.
//!
//! Agents read the same file again and again, and what they edit they have read. A line that stands in
//! the context already is left out the second time. Numbers before the lines of a file are worth less the
//! older the look at it is, so of old ones every fifth stays.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::truncate::count;

/// Stands where lines were left out.
pub(super) const MARK: &str = "…";
/// Known lines in a row with fewer characters are shown again: a mark would be no shorter to read.
const KNOWN_CHARS_MIN: usize = 40;
/// Of thinned line numbers those that this divides stay. It divides ten, so the last digit tells.
const NUMBER_STEP: u8 = 5;

/// What lines the context has.
#[derive(Debug, Default)]
pub(super) struct Shown(HashSet<u64>);

/// A line that will be in the context if the piece is.
pub(super) type Key = u64;

/// How the numbers before lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// There are none; digits before a tabulator are part of the line.
    None,
    /// All stay.
    All,
    /// Some stay.
    Thinned,
}

impl Shown {
    pub fn has(&self, key: Key) -> bool {
        self.0.contains(&key)
    }

    pub fn add(&mut self, keys: impl IntoIterator<Item = Key>) {
        self.0.extend(keys);
    }

    /// Every line of a text, as it is.
    pub fn add_text(&mut self, text: &str) {
        self.add(text.split('\n').map(|line| Line::of(line, Numbers::None).key()));
    }
}

/// A line, and the number before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// The line from its number on, without blanks at its end.
    pub numbered: &'a str,
    /// The same behind the number.
    pub bare: &'a str,
    numbers: Numbers,
}

impl<'a> Line<'a> {
    pub fn of(line: &'a str, numbers: Numbers) -> Self {
        let trimmed = line.trim_end();
        let plain = Self { numbered: trimmed, bare: trimmed, numbers };
        if numbers == Numbers::None {
            return plain;
        }
        let numbered = line.trim_start_matches(' ');
        let behind = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
        match behind.strip_prefix(['→', '\t']) {
            Some(bare) if behind.len() < numbered.len() => {
                Self { numbered: numbered.trim_end(), bare: bare.trim_end(), numbers }
            }
            _ => plain,
        }
    }

    /// What tells the line from others.
    pub fn key(&self) -> Key {
        let mut hasher = DefaultHasher::new();
        self.bare.hash(&mut hasher);
        hasher.finish()
    }

    /// The line, with its number if that stays.
    fn thinned(&self) -> &'a str {
        let number = &self.numbered[..self.numbered.len() - self.bare.len()];
        let last_digit = number.bytes().rfind(u8::is_ascii_digit);
        match (self.numbers, last_digit) {
            (Numbers::Thinned, Some(digit)) if !(digit - b'0').is_multiple_of(NUMBER_STEP) => self.bare,
            _ => self.numbered,
        }
    }
}

/// A text without the lines that are shown elsewhere.
pub(super) struct Rendered {
    pub text: String,
    pub keys: Vec<Key>,
}

/// Leaves out of a text what is shown elsewhere.
pub(super) fn render(text: &str, numbers: Numbers, shown: &Shown) -> Rendered {
    let mut rendering = Rendering { out: Vec::new(), known: Vec::new(), known_chars: 0, after_mark: true };
    let mut keys = Vec::new();
    for line in text.split('\n') {
        let line = Line::of(line, numbers);
        let key = line.key();
        if shown.has(key) {
            rendering.know(line.thinned());
        } else {
            rendering.show(&line);
            keys.push(key);
        }
    }
    rendering.settle();
    Rendered { text: rendering.out.join("\n"), keys }
}

struct Rendering<'a> {
    out: Vec<&'a str>,
    /// Known lines since the last one that was not.
    known: Vec<&'a str>,
    known_chars: usize,
    /// Whether the next line is the first one, or the first after a mark: then its number says where.
    after_mark: bool,
}

impl<'a> Rendering<'a> {
    fn know(&mut self, line: &'a str) {
        self.known.push(line);
        self.known_chars += count(line) + 1;
    }

    fn show(&mut self, line: &Line<'a>) {
        self.settle();
        self.out.push(if self.after_mark { line.numbered } else { line.thinned() });
        self.after_mark = false;
    }

    /// Decides about the known lines so far.
    fn settle(&mut self) {
        if self.known.is_empty() {
            return;
        }
        if self.known_chars < KNOWN_CHARS_MIN {
            self.out.append(&mut self.known);
            self.after_mark = false;
        } else {
            self.out.push(MARK);
            self.known.clear();
            self.after_mark = true;
        }
        self.known_chars = 0;
    }
}
