//! The names in a text: which lines they are on, and which of them are worth listing.

use std::collections::{HashMap, HashSet};

use super::NumberedLine;
use super::kind::ResultKind;
use super::marks::{form, head};
use super::mentions::{Mentions, plain_arguments};
use crate::atoms::{Atom, AtomSort, each_atom};

/// Of a longer text, names are taken from this much only: half at the front, half at the end.
const LOOK_BYTES_MAX: usize = 1 << 20;
/// A name that is on more lines says little about any one of them.
const RARE_LINES_MAX: usize = 12;
/// Being on more lines than this does not make a name more likely to be used again.
const OFTEN_LINES: usize = 6;
/// A longer name is not worth its room in the list.
const NAME_CHARS_MAX: usize = 60;
/// How many names that differ by figures alone are listed.
const ALIKE_MAX: usize = 2;
/// The reference itself shows this much of a text's front.
const PREVIEW_CHARS: usize = 200;

/// The names that were found in a text, with the lines that they are on.
pub(super) struct FoundNames<'a> {
    /// The names in the order in which they first occur.
    names: Vec<FoundName<'a>>,
    lines: usize,
}

struct FoundName<'a> {
    atom: Atom<'a>,
    /// The lines that it is on, up to one more than a rare name may be on.
    at: Vec<usize>,
}

impl<'a> FoundNames<'a> {
    pub(super) fn in_lines(lines: &[NumberedLine<'a>], kind: ResultKind) -> Self {
        let mut names: Vec<FoundName<'a>> = Vec::new();
        let mut places: HashMap<Atom<'a>, usize> = HashMap::new();
        for at in looked_at(lines) {
            each_atom(bare(lines[at].text, kind), |atom| {
                let place = *places.entry(atom).or_insert_with(|| {
                    names.push(FoundName { atom, at: Vec::new() });
                    names.len() - 1
                });
                let seen = &mut names[place].at;
                if seen.len() <= RARE_LINES_MAX && seen.last() != Some(&at) {
                    seen.push(at);
                }
            });
        }
        Self { names, lines: lines.len() }
    }

    /// The lines with a rare name that the session has spoken of, those with the rarest first. Names in the call itself
    /// do not count: its answer is about them anyway.
    pub(super) fn lines_spoken_of(&self, mentions: &Mentions, arguments: &str) -> Vec<usize> {
        let arguments = plain_arguments(arguments);
        let in_call = names_of(&arguments);
        let mut rarest = vec![usize::MAX; self.lines];
        for FoundName { atom, at } in &self.names {
            let tells = atom.sort == AtomSort::Identifier && at.len() <= RARE_LINES_MAX && !in_call.contains(atom.name);
            if tells && mentions.has_said(atom.name) {
                at.iter().for_each(|line| rarest[*line] = rarest[*line].min(at.len()));
            }
        }
        let with = |lines: usize| rarest.iter().enumerate().filter(move |(_, rare)| **rare == lines).map(|(at, _)| at);
        (1..=RARE_LINES_MAX).flat_map(with).collect()
    }

    /// A list of the names that can be seen neither in the session nor in what is `shown` of the text, those on several
    /// lines first. Plain numbers are left out: nobody searches for them.
    pub(super) fn list(&self, mentions: &Mentions, text: &str, shown: &str, chars_max: usize) -> String {
        let mut have = names_of(head(text, PREVIEW_CHARS));
        have.extend(names_of(shown));
        let mut list = NameList { out: String::new(), left_chars: chars_max, alike: HashMap::new() };
        for lines in (1..=OFTEN_LINES).rev() {
            for FoundName { atom, .. } in self.names.iter().filter(|name| name.at.len().min(OFTEN_LINES) == lines) {
                if !mentions.has(atom.name) && !have.contains(atom.name) && list.push(*atom) {
                    // A path shows the names of which it is made.
                    have.extend(names_of(atom.name));
                    have.insert(atom.name);
                }
            }
        }
        list.out
    }
}

/// A list of names with a blank between, as many as fit.
struct NameList {
    out: String,
    left_chars: usize,
    /// How many names of each form are in the list.
    alike: HashMap<String, usize>,
}

impl NameList {
    /// Adds a name if it fits and is worth it, and returns whether it did.
    fn push(&mut self, atom: Atom<'_>) -> bool {
        let chars = atom.name.chars().count();
        if atom.sort == AtomSort::Number || chars > NAME_CHARS_MAX || chars + 1 > self.left_chars {
            return false;
        }
        let alike = self.alike.entry(form(atom.name)).or_default();
        if *alike >= ALIKE_MAX {
            return false;
        }
        *alike += 1;
        self.left_chars -= chars + 1;
        self.out.push_str(if self.out.is_empty() { "" } else { " " });
        self.out.push_str(atom.name);
        true
    }
}

fn names_of(text: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    each_atom(text, |atom| {
        names.insert(atom.name);
    });
    names
}

/// The indexes of the lines from which names are taken.
fn looked_at(lines: &[NumberedLine<'_>]) -> impl Iterator<Item = usize> + use<> {
    let within = |lines: &mut dyn Iterator<Item = &NumberedLine<'_>>| {
        let mut left_bytes = LOOK_BYTES_MAX / 2;
        lines
            .take_while(|line| {
                let has_room = left_bytes > 0;
                left_bytes = left_bytes.saturating_sub(line.text.len() + 1);
                has_room
            })
            .count()
    };
    let front = within(&mut lines.iter());
    let end = within(&mut lines[front..].iter().rev());
    (0..front).chain(lines.len() - end..lines.len())
}

/// A line without the number that a tool put before it, cut to what is examined.
fn bare(line: &str, kind: ResultKind) -> &str {
    let line = &line[..line.floor_char_boundary(LOOK_BYTES_MAX / 2)];
    match kind {
        ResultKind::File => line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()),
        ResultKind::Text | ResultKind::Search | ResultKind::Output => line,
    }
}
