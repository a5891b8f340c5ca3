//! Texts as they are compared: sets of words, values apart from the rest, and shingles.

use std::collections::{BTreeSet, HashSet};

use crate::atoms::{AtomSort, each_atom};
use crate::words::words;

/// Words in a row that are one shingle.
const SHINGLE_WORDS: usize = 4;
/// Shingles that are kept of all texts together.
const SHINGLES_MAX: usize = 100_000;
/// Words that turn what is said into its opposite, as stems, in order.
const NEGATIONS: [&str; 11] = ["avoid", "cannot", "don", "fail", "isn", "never", "no", "not", "stop", "without", "won"];

/// The words of a text.
#[derive(Debug, Clone)]
pub(super) struct TextWords {
    /// All of them, as stems.
    pub all: BTreeSet<String>,
    /// Those that are neither values nor negations.
    pub plain: BTreeSet<String>,
    /// Numbers, versions and the parts of identifiers.
    pub values: BTreeSet<String>,
    /// Identifiers, whole.
    pub identifiers: BTreeSet<String>,
    /// How often something is negated.
    pub negations: usize,
}

impl TextWords {
    pub fn of(text: &str) -> Self {
        let (mut identifiers, mut values) = (BTreeSet::new(), BTreeSet::new());
        each_atom(text, |atom| {
            if atom.sort == AtomSort::Identifier {
                identifiers.insert(atom.name.to_owned());
                values.extend(words(atom.name).into_iter().map(|word| word.text));
            }
        });
        let mut all = BTreeSet::new();
        for word in words(text) {
            if word.text.chars().any(char::is_numeric) {
                values.insert(word.text.clone());
            }
            all.insert(word.text);
        }
        let plain = all.iter().filter(|word| !values.contains(*word) && !is_negation(word)).cloned().collect();
        Self { all, plain, values, identifiers, negations: negations_in(text).len() }
    }
}

/// The words that negate something in a text, as often as they occur.
pub(crate) fn negations_in(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.text).filter(|word| is_negation(word)).collect()
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.binary_search(&word).is_ok()
}

/// How much of two sets is in both.
pub(super) fn jaccard(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let both = one.intersection(other).count();
    let either = one.len() + other.len() - both;
    if either == 0 { 0.0 } else { both as f64 / either as f64 }
}

/// Which rows of four words some texts have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shingles {
    hashes: HashSet<u64>,
}

impl Shingles {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        let room = SHINGLES_MAX.saturating_sub(self.hashes.len());
        self.hashes.extend(hashes(text).into_iter().take(room));
    }

    /// Which share of a text's shingles is known; none if the text is too short to have one.
    pub fn share_of(&self, text: &str) -> f64 {
        let hashes = hashes(text);
        let known = hashes.iter().filter(|hash| self.hashes.contains(hash)).count();
        if hashes.is_empty() { 0.0 } else { known as f64 / hashes.len() as f64 }
    }
}

fn hashes(text: &str) -> Vec<u64> {
    let stems: Vec<String> = words(text).into_iter().map(|word| word.text).collect();
    let hash = |row: &[String]| {
        let hash = blake3::hash(row.join(" ").as_bytes());
        hash.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    stems.windows(SHINGLE_WORDS).map(hash).collect()
}
