//! The lines of a piece as they are shown: each only once in the whole context, without margins.
//!
//! Agents read the same file again and again, and what they edit they have read. A line that is in the
//! context already is left out the second time. The older a look at a file is, the less its line numbers
//! are worth, so of old ones every fifth stays.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::truncate::count;

/// Is written where lines were left out.
pub(super) const MARK: &str = "…";
/// Lines in a row that are known already, with fewer characters than this, are shown again: a mark would
/// be no shorter to read.
const KNOWN_CHARS_MIN: usize = 40;
/// Of thinned line numbers those that this divides stay. It divides ten, so the last digit decides.
const NUMBER_STEP: u8 = 5;

/// The lines that the context has.
#[derive(Debug, Default)]
pub(super) struct Shown(HashSet<u64>);

/// A hash of a line without its number.
pub(super) type Key = u64;

/// How the numbers before lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// There are none; digits before a tabulator are part of the line.
    None,
    All,
    /// Only every fifth stays.
    Thinned,
}

impl Shown {
    pub fn has(&self, key: Key) -> bool {
        self.0.contains(&key)
    }

    pub fn add(&mut self, keys: impl IntoIterator<Item = Key>) {
        self.0.extend(keys);
    }

    /// Adds every line of a text, with what may look like a number.
    pub fn add_text(&mut self, text: &str) {
        self.add(text.split('\n').map(|line| Line::of(line, Numbers::None).key()));
    }
}

/// A line, and the number before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// The line from its number on, without blanks at its end.
    pub numbered: &'a str,
    /// The line behind its number.
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

    pub fn key(&self) -> Key {
        let mut hasher = DefaultHasher::new();
        self.bare.hash(&mut hasher);
        hasher.finish()
    }

    /// The line as it is shown: without its number if numbers are thinned and this one does not stay.
    fn thinned(&self) -> &'a str {
        let number = &self.numbered[..self.numbered.len() - self.bare.len()];
        let last_digit = number.bytes().rfind(u8::is_ascii_digit);
        match (self.numbers, last_digit) {
            (Numbers::Thinned, Some(digit)) if !(digit - b'0').is_multiple_of(NUMBER_STEP) => self.bare,
            _ => self.numbered,
        }
    }
}

/// A text without the lines that other pieces show.
pub(super) struct Rendered {
    pub text: String,
    /// The lines that the text adds to the context.
    pub keys: Vec<Key>,
}

/// Leaves out of a text the lines that the context has.
pub(super) fn render(text: &str, numbers: Numbers, shown: &Shown) -> Rendered {
    let mut rendering = Rendering { out: Vec::new(), known: Vec::new(), known_chars: 0, after_mark: true };
    let mut keys = Vec::new();
    for line in text.split('\n') {
        let line = Line::of(line, numbers);
        let key = line.key();
        if shown.has(key) {
            rendering.add_known(line.thinned());
        } else {
            rendering.add_new(&line);
            keys.push(key);
        }
    }
    rendering.flush_known();
    Rendered { text: rendering.out.join("\n"), keys }
}

struct Rendering<'a> {
    out: Vec<&'a str>,
    /// Known lines behind the last new one.
    known: Vec<&'a str>,
    known_chars: usize,
    /// Whether the next line is the first one, or the first after a mark: then it keeps its number, which
    /// says where in the file it is.
    after_mark: bool,
}

impl<'a> Rendering<'a> {
    fn add_known(&mut self, line: &'a str) {
        self.known.push(line);
        self.known_chars += count(line) + 1;
    }

    fn add_new(&mut self, line: &Line<'a>) {
        self.flush_known();
        self.out.push(if self.after_mark { line.numbered } else { line.thinned() });
        self.after_mark = false;
    }

    /// Writes the known lines so far, or a mark in their place if they are long.
    fn flush_known(&mut self) {
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
