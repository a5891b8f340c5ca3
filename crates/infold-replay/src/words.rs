//! Gives atoms and lines small numbers, so that what is visible can be counted instead of searched for.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

use infold_core::atoms::{Atom, AtomSort, each_atom, edit_line};

/// The number of an atom or a line of one thread; both are called words here.
pub(crate) type WordId = u32;

/// The words of a thread and their numbers. A word is represented by a hash of 64 bits: in a session with a million
/// words, the chance that any two are mixed up is below one in ten million.
#[derive(Debug, Default)]
pub(crate) struct ThreadWords {
    ids: HashMap<u64, WordId>,
}

impl ThreadWords {
    /// The atoms in a text, each once, in a fixed order.
    pub fn atoms(&mut self, text: &str) -> Vec<WordId> {
        let mut hashes = Vec::new();
        each_atom(text, |atom| hashes.push(hash_of_atom(atom)));
        self.ids_of(hashes)
    }

    /// The lines in a text, each once, in a fixed order.
    pub fn lines(&mut self, text: &str) -> Vec<WordId> {
        self.ids_of(text.split('\n').filter_map(edit_line).map(hash_of_line).collect())
    }

    /// The words in a context that already have a number. The context is plain text, so it is searched as it is.
    pub fn seen_in(&self, context: &str) -> HashSet<WordId> {
        let mut seen: HashSet<WordId> = HashSet::new();
        each_atom(context, |atom| seen.extend(self.ids.get(&hash_of_atom(atom))));
        seen.extend(context.split('\n').filter_map(edit_line).filter_map(|line| self.ids.get(&hash_of_line(line))));
        seen
    }

    /// The atoms in those lines of a text that are lines of the thread, each once.
    pub fn atoms_in_lines_of(&mut self, text: &str, whole: &WholeLines) -> Vec<WordId> {
        let mut hashes = Vec::new();
        for line in text.split('\n').filter(|line| whole.has(line)) {
            each_atom(line, |atom| hashes.push(hash_of_atom(atom)));
        }
        self.ids_of(hashes)
    }

    /// How many different words have a number.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    fn ids_of(&mut self, mut hashes: Vec<u64>) -> Vec<WordId> {
        hashes.sort_unstable();
        hashes.dedup();
        hashes
            .into_iter()
            .map(|hash| {
                let next = self.ids.len() as WordId;
                *self.ids.entry(hash).or_insert(next)
            })
            .collect()
    }
}

/// The lines of a thread as they were first shown, without line numbers.
#[derive(Debug, Default)]
pub(crate) struct WholeLines {
    lines: HashSet<u64>,
}

impl WholeLines {
    /// Adds the lines of a text.
    pub fn add(&mut self, text: &str) {
        self.lines.extend(text.split('\n').map(whole_line));
    }

    fn has(&self, line: &str) -> bool {
        self.lines.contains(&whole_line(line))
    }
}

/// The hash of a line: of what an edit would name, or of the whole line if it is too short for that.
fn whole_line(line: &str) -> u64 {
    edit_line(line).map_or_else(|| hash(5, without_number(line)), hash_of_line)
}

fn without_number(line: &str) -> &str {
    line.split_once(['→', '\t']).map_or(line, |(_, line)| line).trim()
}

fn hash_of_atom(atom: Atom<'_>) -> u64 {
    hash(
        match atom.sort {
            AtomSort::Path => 0,
            AtomSort::Identifier => 1,
            AtomSort::Number => 2,
            AtomSort::Hash => 3,
        },
        atom.name,
    )
}

fn hash_of_line(line: &str) -> u64 {
    hash(4, line)
}

/// A hash that is the same in every run.
fn hash(kind: u8, word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(kind);
    hasher.write(word.as_bytes());
    hasher.finish()
}
