//! What is looked for when memories are wanted: the words of a brief, and the files that it names.
//!
//! A brief may be long, and every word that is looked up costs time. So at most 96 are: those of the branch's name and
//! the description first, then those of paths and identifiers, then the others. The store says how rare each is in the
//! project; with the rarest 32 it finds candidates, and all of them together rank these ([`super::rank`]).
//!
//! What must hold: any text makes a query, and what a query costs is bounded whatever the text says.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::files::{file_name, paths_in};
use crate::words::words;

/// What is read of a description and of a prompt, each.
const TEXT_BYTES_MAX: usize = 16_384;
/// Words whose rarity is looked up.
pub const LOOKED_UP_MAX: usize = 96;
/// Words by which candidates are searched.
pub const SEARCHED_MAX: usize = 32;
/// Files that a query names.
const FILES_MAX: usize = 64;
/// A word that is said more often counts no more than this.
const TIMES_MAX: u32 = 2;
/// Branches on which everything ends up: that a memory is of one says nothing about its subject.
pub const TRUNKS: [&str; 5] = ["HEAD", "develop", "main", "master", "trunk"];

/// What memories are wanted for.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryTexts<'a> {
    /// What the branch is for, in a line; empty where there is only a text.
    pub description: &'a str,
    /// What it was asked to do, in full.
    pub prompt: &'a str,
    /// The git branch that the work is on.
    pub git_branch: Option<&'a str>,
}

/// A query: what is looked up, and what candidates are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuery {
    pub(super) words: Vec<QueryWord>,
    /// The words that say in a line what it is for; of a query without such a line, all of its words.
    pub(super) description: BTreeSet<String>,
    /// The names of the files that it names, without their folders.
    pub(super) files: BTreeSet<String>,
    /// The git branch, unless it is one on which everything ends up.
    pub(super) git_branch: Option<String>,
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryWord {
    pub stem: String,
    pub times: u32,
    /// Whether the git branch's name has it.
    pub is_of_branch: bool,
}

/// In how many memories of a project each word is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordFrequencies {
    /// The memories of the project.
    pub memories: u64,
    /// For each word that was looked up, the memories that have it; words that none has may be left out.
    pub with_word: HashMap<String, u64>,
}

impl WordFrequencies {
    /// How many memories have a word.
    pub(super) fn with(&self, stem: &str) -> u64 {
        self.with_word.get(stem).copied().unwrap_or(0)
    }

    /// What a word is worth.
    pub(super) fn rarity(&self, stem: &str) -> f64 {
        rarity(self.memories, self.with(stem))
    }
}

/// What a word is worth that so many of all texts have: BM25's inverse document frequency.
pub(super) fn rarity(all: u64, having: u64) -> f64 {
    let others = all.saturating_sub(having) as f64;
    (1.0 + (others + 0.5) / (having as f64 + 0.5)).ln()
}

impl MemoryQuery {
    /// The query for these texts.
    pub fn new(texts: QueryTexts<'_>) -> Self {
        let git_branch = texts.git_branch.filter(|branch| !branch.is_empty() && !is_trunk(branch));
        let mut found = FoundWords::default();
        found.add(git_branch.unwrap_or_default(), WordPlace::Branch);
        found.add(head(texts.description), WordPlace::Description);
        found.add(head(texts.prompt), WordPlace::Prompt);
        let files = [texts.description, texts.prompt].into_iter().flat_map(|text| paths_in(head(text)));
        let line = if texts.description.trim().is_empty() { texts.prompt } else { texts.description };
        Self {
            words: found.first(LOOKED_UP_MAX),
            description: words(head(line)).into_iter().map(|word| word.text).take(LOOKED_UP_MAX).collect(),
            files: files.map(file_name).take(FILES_MAX).collect(),
            git_branch: git_branch.map(str::to_owned),
        }
    }

    /// The words whose frequency is to be looked up.
    pub fn looked_up(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.stem.as_str())
    }

    /// The words by which candidates are searched: the rarest of those that any memory has.
    pub fn searched(&self, frequencies: &WordFrequencies) -> Vec<&str> {
        let known = self.words.iter().map(|word| (frequencies.with(&word.stem), word.stem.as_str()));
        let mut known: Vec<(u64, &str)> = known.filter(|(having, _)| *having > 0).collect();
        // Words that are as rare as each other stay in the order of the text.
        known.sort_by_key(|(having, _)| *having);
        known.truncate(SEARCHED_MAX);
        known.into_iter().map(|(_, stem)| stem).collect()
    }
}

/// Whether everything ends up on a git branch of this name.
pub fn is_trunk(git_branch: &str) -> bool {
    TRUNKS.contains(&git_branch)
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// Where a word was found, the most telling place first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordPlace {
    Branch,
    Description,
    /// In the prompt, as part of a path or an identifier.
    Name,
    Prompt,
}

/// The words of a query as they are collected.
#[derive(Default)]
struct FoundWords {
    words: Vec<(WordPlace, QueryWord)>,
    positions: HashMap<String, usize>,
}

impl FoundWords {
    fn add(&mut self, text: &str, place: WordPlace) {
        for piece in text.split_whitespace() {
            let is_name = place == WordPlace::Prompt && is_telling(piece);
            let place = if is_name { WordPlace::Name } else { place };
            for word in words(piece) {
                self.add_word(word.text, place);
            }
        }
    }

    fn add_word(&mut self, stem: String, place: WordPlace) {
        let is_of_branch = place == WordPlace::Branch;
        match self.positions.get(&stem) {
            Some(position) => {
                let (known_place, word) = &mut self.words[*position];
                *known_place = place.min(*known_place);
                word.times = (word.times + 1).min(TIMES_MAX);
                word.is_of_branch |= is_of_branch;
            }
            None => {
                self.positions.insert(stem.clone(), self.words.len());
                self.words.push((place, QueryWord { stem, times: 1, is_of_branch }));
            }
        }
    }

    /// The most telling words: by where they are, then those that are said again, then in the order of the text.
    fn first(mut self, words_max: usize) -> Vec<QueryWord> {
        self.words.sort_by_key(|(place, word)| (*place, Reverse(word.times)));
        self.words.truncate(words_max);
        self.words.into_iter().map(|(_, word)| word).collect()
    }
}

/// Whether a piece of a text is a path, an identifier or something quoted, rather than plain words.
fn is_telling(piece: &str) -> bool {
    let inner = piece.trim_matches(|c: char| !c.is_alphanumeric());
    let has_sign = inner.contains(['/', '_', '.', ':']);
    let has_capital = inner.chars().skip(1).any(char::is_uppercase) && inner.chars().any(char::is_lowercase);
    has_sign || has_capital || piece.starts_with('`') || inner.chars().any(char::is_numeric)
}

#[cfg(test)]
mod tests;
