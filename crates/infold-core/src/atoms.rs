//! Atoms: the names in a text that somebody may come back to, and the lines that an edit may name.
//!
//! When an agent uses again something that it has seen, it is mostly one of four sorts of name: a path (the last
//! two components are enough to tell two apart), an identifier that is more than an ordinary word, a number, or a
//! hash. Forks and shaping are measured by how many atoms survive, and `fork.profile = "recall"` picks lines by them.
//!
//! This is a scanner by hand and not four regular expressions, because every text that is measured passes through it.
//! What must hold: an atom never spans two lines, and the atoms of a text are those of its lines.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

/// A shorter path is in too many texts to point at anything.
const PATH_CHARS_MIN: usize = 6;
const IDENTIFIER_CHARS_MIN: usize = 6;
const NUMBER_CHARS_MIN: usize = 3;
const HASH_CHARS_MIN: usize = 7;
const HASH_CHARS_MAX: usize = 40;
/// A shorter line, such as a closing brace, is in every file.
const LINE_CHARS_MIN: usize = 12;

/// Three or more digits of any script, for words that are not ASCII.
static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d{3,}$").ok());

/// What sort of name an atom is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomSort {
    /// The last two components of a path.
    Path,
    /// An identifier of six or more characters with an underscore, a digit or an inner capital.
    Identifier,
    /// A number of three or more digits.
    Number,
    /// The first seven digits of a hash.
    Hash,
}

/// A name that occurs in a text, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom<'a> {
    /// What sort of name it is; the same letters may be an identifier here and a hash there.
    pub sort: AtomSort,
    /// The text of the name, cut to what identifies it: a path's last two components, a hash's first seven digits.
    pub name: &'a str,
}

/// The names that occur in a text, each once.
pub fn atoms(text: &str) -> HashSet<Atom<'_>> {
    let mut found = HashSet::new();
    each_atom(text, |atom| {
        found.insert(atom);
    });
    found
}

/// Calls `see` for every name in a text, in no particular order and as often as it occurs.
pub fn each_atom<'a>(text: &'a str, mut see: impl FnMut(Atom<'a>)) {
    // Whatever sort a name is of, all of it lies within a run of characters that have a class.
    let (mut start, mut classes) = (0, 0);
    for (at, c) in text.char_indices() {
        let class = class_of(c);
        classes |= class;
        if class == 0 {
            atoms_in(&text[start..at], classes, &mut see);
            (start, classes) = (at + c.len_utf8(), 0);
        }
    }
    atoms_in(&text[start..], classes, &mut see);
}

/// The names in a run of characters with these classes. Most runs are plain words, which hold none.
fn atoms_in<'a>(run: &'a str, classes: u8, see: &mut impl FnMut(Atom<'a>)) {
    if run.len() < NUMBER_CHARS_MIN {
        return;
    }
    if classes & SLASH != 0 {
        path_in(run, see);
    }
    if classes & TELLING != 0 {
        identifiers_in(run, see);
    }
    if classes & DIGIT == 0 {
        return;
    }
    for number in run.split(|c: char| !(is_word(c) || c == '.')).filter(|number| is_number(number)) {
        see(Atom { sort: AtomSort::Number, name: number });
    }
    for word in run.split(|c: char| !is_word(c)).filter(|word| is_hash(word)) {
        see(Atom { sort: AtomSort::Hash, name: &word[..HASH_CHARS_MIN] });
    }
}

/// The line as an edit would quote it: without its line number and margins. `None` if it is too short to identify.
pub fn edit_line(line: &str) -> Option<&str> {
    let long_enough = line.trim_matches(is_space).chars().nth(LINE_CHARS_MIN - 1).is_some();
    long_enough.then(|| without_line_number(line).trim_matches(is_space))
}

/// The class of every character that may be in a name.
const IN_NAME: u8 = 1;
/// The further class of those that make an identifier more than a word.
const TELLING: u8 = 2;
/// The further class of those that may be a digit.
const DIGIT: u8 = 4;
const SLASH: u8 = 8;

/// The classes of the characters of ASCII.
static ASCII_CLASSES: [u8; 128] = {
    let mut classes = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'.' | b'-' | b'~' | b'@' | b'+' => IN_NAME,
            b'A'..=b'Z' | b'_' => IN_NAME | TELLING,
            b'0'..=b'9' => IN_NAME | TELLING | DIGIT,
            b'/' => IN_NAME | SLASH,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// The classes of a character: none, if it is in no name.
fn class_of(c: char) -> u8 {
    match ASCII_CLASSES.get(c as usize) {
        Some(class) => *class,
        None if c.is_alphanumeric() => IN_NAME | DIGIT,
        None => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphanumeric())
}

/// White space, and the four separators of ASCII, which some take for it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// A path ends in a component without `~`, after the last slash that has such a one behind it. So a
/// run of path characters holds at most one path, from its beginning.
fn path_in<'a>(run: &'a str, see: &mut impl FnMut(Atom<'a>)) {
    let ends_path = |c: char| c != '/' && c != '~';
    let last_slash = run.rmatch_indices('/').find(|(at, _)| run[at + 1..].starts_with(ends_path));
    let Some((slash, _)) = last_slash else { return };
    let end = run[slash + 1..].find(|c: char| !ends_path(c)).map_or(run.len(), |end| slash + 1 + end);
    if run[..end].chars().nth(PATH_CHARS_MIN - 1).is_none() {
        return;
    }
    let path = run[..end].trim_matches('.').trim_end_matches('/');
    let name = match path.rmatch_indices('/').nth(1) {
        Some((slash, _)) => &path[slash + 1..],
        None => path,
    };
    see(Atom { sort: AtomSort::Path, name });
}

fn identifiers_in<'a>(run: &'a str, see: &mut impl FnMut(Atom<'a>)) {
    for word in run.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        if word.len() >= IDENTIFIER_CHARS_MIN && is_telling(word) {
            see(Atom { sort: AtomSort::Identifier, name: word });
        }
    }
}

/// Whether an identifier is more than an ordinary word.
fn is_telling(word: &str) -> bool {
    let bytes = word.as_bytes();
    word.trim_matches('_').contains('_')
        || bytes.iter().any(u8::is_ascii_digit)
        || (bytes[1..].iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase))
}

fn is_number(word: &str) -> bool {
    if word.is_ascii() {
        return word.len() >= NUMBER_CHARS_MIN && word.bytes().all(|byte| byte.is_ascii_digit());
    }
    DIGITS.as_ref().is_some_and(|digits| digits.is_match(word))
}

fn is_hash(word: &str) -> bool {
    (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&word.len())
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// The line without the number that a tool put before it, and without one blank after that number.
fn without_line_number(line: &str) -> &str {
    let number = line.trim_start_matches(is_space);
    let behind = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut rest = behind.chars();
    match rest.next() {
        Some('→' | '\t' | ':' | '|' | '-') if behind.len() < number.len() => {
            let rest = rest.as_str();
            rest.strip_prefix(is_space).unwrap_or(rest)
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests;
