//! Takes out of a text what differs from run to run by nature. Nothing else is taken out:
//!
//! - ids behind `br_`, `res_` and `sess_`, and 32 hex digits behind `x-`: branches, blobs, sessions that nobody named;
//! - uuids that are not in what the program was given: fresh names of sessions and lines;
//! - digests of 24 hex digits, which the scripted model makes of all that it was sent, ids included;
//! - times to the second, with their fractions, that are not in what the program was given;
//! - addresses on loopback with their port;
//! - the folders that a program was run in.
//!
//! An id becomes a number in the order of first appearance, so that one which is used twice must be used twice on both
//! sides. Times become one word, because two of them may or may not be equal.

use std::collections::{HashMap, HashSet};

#[cfg(test)]
mod tests;

const ID_PREFIXES: [&[u8]; 3] = [b"br_", b"res_", b"sess_"];
const NAMELESS_PREFIX: &[u8] = b"x-";
const NAMELESS_DIGITS: usize = 32;
const DIGEST_DIGITS: usize = 24;
const ADDRESS: &[u8] = b"127.0.0.1:";

/// The ids that have been numbered so far in the texts of one program, and what is left as it is.
#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<Vec<u8>, usize>,
    /// Uuids and times that the program was given.
    given: HashSet<Vec<u8>>,
    folders: Vec<Vec<u8>>,
}

/// Something that is taken out of a text, with its length.
#[derive(Debug, Clone, Copy)]
struct Found {
    kind: Kind,
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// With the length of the prefix, which stays.
    Id {
        prefix: usize,
    },
    Uuid,
    Digest,
    Time,
    Address,
    Folder,
}

impl Names {
    /// Prepares for the texts of a program that runs in these folders.
    pub fn in_folders(folders: &[&str]) -> Self {
        let mut folders: Vec<Vec<u8>> = folders.iter().map(|folder| folder.as_bytes().to_vec()).collect();
        // The longest comes first, because one folder may lie in another.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        Self { folders, ..Self::default() }
    }

    /// Remembers the uuids and times in what the program was given, so that they are left as they are.
    pub fn leave(&mut self, input: &[u8]) {
        let mut at = 0;
        while at < input.len() {
            let Some(Found { kind, end }) = self.find(input, at) else {
                at += 1;
                continue;
            };
            if matches!(kind, Kind::Uuid | Kind::Time) {
                self.given.insert(input[at..end].to_vec());
            }
            at = end;
        }
    }

    /// The text without what differs by nature.
    pub fn normal(&mut self, text: &[u8]) -> Vec<u8> {
        let mut normal = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let Some(Found { kind, end }) = self.find(text, at) else {
                normal.push(text[at]);
                at += 1;
                continue;
            };
            match kind {
                Kind::Id { prefix } => {
                    normal.extend_from_slice(&text[at..at + prefix]);
                    normal.extend(self.number("id", &text[at + prefix..end]));
                }
                Kind::Uuid | Kind::Time if self.given.contains(&text[at..end]) => {
                    normal.extend_from_slice(&text[at..end]);
                }
                Kind::Uuid => normal.extend(self.number("id", &text[at..end])),
                Kind::Digest => normal.extend(self.number("digest", &text[at..end])),
                Kind::Time => normal.extend(b"<time>"),
                Kind::Address => normal.extend(b"<address>"),
                Kind::Folder => normal.extend(b"<folder>"),
            }
            at = end;
        }
        normal
    }

    fn number(&mut self, kind: &str, name: &[u8]) -> Vec<u8> {
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(name.to_vec()).or_insert(next);
        format!("<{kind} {number}>").into_bytes()
    }

    /// What is taken out of the text at this place. A name inside a longer word is a part of that word, and stays.
    fn find(&self, text: &[u8], at: usize) -> Option<Found> {
        if !begins_word(text, at) {
            return None;
        }
        let rest = &text[at..];
        let found = |kind: Kind, length: usize| Found { kind, end: at + length };
        match rest[0] {
            b'/' => {
                let folder = self.folders.iter().find(|folder| rest.starts_with(folder))?;
                Some(found(Kind::Folder, folder.len()))
            }
            b'r' | b's' | b'x' => id(rest).map(|(prefix, length)| found(Kind::Id { prefix }, length)),
            b'a'..=b'f' | b'A'..=b'F' | b'0'..=b'9' => id(rest)
                .map(|(prefix, length)| found(Kind::Id { prefix }, length))
                .or_else(|| uuid(rest).map(|length| found(Kind::Uuid, length)))
                .or_else(|| digest(rest).map(|length| found(Kind::Digest, length)))
                .or_else(|| time(rest).map(|length| found(Kind::Time, length)))
                .or_else(|| address(rest).map(|length| found(Kind::Address, length))),
            _ => None,
        }
    }
}

/// Whether a word can begin here: not behind a letter, unless that is the end of an escape in JSON.
fn begins_word(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., before] => !before.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// The lengths of an id's prefix, and of prefix and id together.
fn id(text: &[u8]) -> Option<(usize, usize)> {
    if let Some(digits) = text.strip_prefix(NAMELESS_PREFIX) {
        let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        return (count == NAMELESS_DIGITS).then_some((NAMELESS_PREFIX.len(), NAMELESS_PREFIX.len() + count));
    }
    let prefix = ID_PREFIXES.iter().find(|prefix| text.starts_with(prefix))?.len();
    Some((prefix, prefix + uuid(&text[prefix..])?))
}

fn uuid(text: &[u8]) -> Option<usize> {
    shaped(text, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")
}

fn digest(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    (digits == DIGEST_DIGITS).then_some(digits)
}

/// A time as in logs, or as in the names of files, with a fraction of a second or without.
fn time(text: &[u8]) -> Option<usize> {
    let whole = shaped(text, "dddd-dd-ddTdd:dd:dd").or_else(|| shaped(text, "dddd-dd-ddTdd-dd-dd"))?;
    let fraction = match text.get(whole) {
        Some(b'.') => 1 + text[whole + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = usize::from(text.get(whole + fraction) == Some(&b'Z'));
    Some(whole + fraction + zone)
}

fn address(text: &[u8]) -> Option<usize> {
    let port = text.strip_prefix(ADDRESS)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (port > 0).then_some(ADDRESS.len() + port)
}

/// The length of a shape in which `h` is a hex digit, `d` a digit, and anything else itself.
fn shaped(text: &[u8], shape: &str) -> Option<usize> {
    let fits = |(byte, wanted): (&u8, u8)| match wanted {
        b'h' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        _ => *byte == wanted,
    };
    (text.len() >= shape.len() && text.iter().zip(shape.bytes()).all(fits)).then_some(shape.len())
}
