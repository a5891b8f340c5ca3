//! Says how likely it is that a memory has to do with a brief: the gate before anything is shown.
//!
//! Ranking only orders: something is always first, however far from the subject. So each memory is also looked at by
//! itself: which share of its words the brief has, rare ones counting more, and whether the brief names its files.
//!
//! The weights are round figures, picked among a dozen sets with all recorded sub-tasks in view
//! (`docs/measurements.md`); for memories without files there are no recordings, and the weights are a guess. They hold
//! for the first ten by rank: further down more passes that has nothing to do with the brief.
//!
//! What must hold: how many memories there are makes no difference, so that the first one of a project can be shown;
//! a memory that alone has a file that the brief names passes by that, unless every project has such a file; a memory
//! that has nothing of the brief passes never.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::files::{file_name, is_common_name};
use super::query::MemoryQuery;
use super::searched::SearchedMemory;

/// What a word counts at least, however many memories have it.
const RARITY_MIN: f64 = 0.7;
/// More named files say no more.
const NAMED_FILES_MAX: usize = 3;

/// What each sign counts, and what the sum begins with.
struct GateWeights {
    signs: RelevanceSigns,
    base: f64,
}

/// For memories that are about files.
const WITH_FILES: GateWeights = GateWeights {
    signs: RelevanceSigns { named_files: 0.4, rare_files: 1.6, title: 1.5, lesson: 0.5, files: 0.3, same_task: 3.0 },
    base: -2.3,
};
/// For memories without files, such as models write: their words have to be enough.
const WITHOUT_FILES: GateWeights = GateWeights {
    signs: RelevanceSigns { named_files: 0.0, rare_files: 0.0, title: 2.0, lesson: 2.0, files: 0.0, same_task: 1.0 },
    base: -1.2,
};

/// How much each sign says for a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RelevanceSigns {
    /// Files that the query names, at most three.
    pub named_files: f64,
    /// The same, each divided by how many candidates have it.
    pub rare_files: f64,
    /// The share of the title's words that the query has.
    pub title: f64,
    /// The share of the lesson's words that the query has.
    pub lesson: f64,
    /// The share of the words of its files' paths that the query has.
    pub files: f64,
    /// How far its title and the line that says what the query is for have the same words, above one half.
    pub same_task: f64,
}

/// What is known of all candidates of a query.
#[derive(Debug)]
pub struct Relevance<'a> {
    words: HashSet<&'a str>,
    description: &'a BTreeSet<String>,
    files: BTreeSet<&'a str>,
    candidates: usize,
    /// How many candidates have each word in their title or lesson.
    with_word: HashMap<&'a str, usize>,
    /// How many candidates have a file of each name.
    with_file: HashMap<String, usize>,
}

impl<'a> Relevance<'a> {
    /// Looks at all candidates of a query.
    pub fn new(query: &'a MemoryQuery, candidates: impl IntoIterator<Item = &'a SearchedMemory>) -> Self {
        let files = query.files.iter().map(String::as_str).filter(|name| !is_common_name(name));
        let mut relevance = Self {
            words: query.looked_up().collect(),
            description: &query.description,
            files: files.collect(),
            candidates: 0,
            with_word: HashMap::new(),
            with_file: HashMap::new(),
        };
        for memory in candidates {
            relevance.candidates += 1;
            let words: HashSet<&str> = stems(&memory.title).chain(stems(&memory.lesson)).collect();
            words.into_iter().for_each(|word| *relevance.with_word.entry(word).or_default() += 1);
            names(memory).into_iter().for_each(|name| *relevance.with_file.entry(name).or_default() += 1);
        }
        relevance
    }

    /// How likely it is that a memory has to do with the query, from 0 to 1.
    pub fn of(&self, memory: &SearchedMemory) -> f64 {
        weighed(&self.signs(memory), weights_of(memory))
    }

    /// The same for a memory whose words somebody chose: they may be enough, whatever files its branch happened to use.
    pub fn of_written(&self, memory: &SearchedMemory) -> f64 {
        let signs = self.signs(memory);
        weighed(&signs, weights_of(memory)).max(weighed(&signs, &WITHOUT_FILES))
    }

    /// What speaks for a memory.
    pub fn signs(&self, memory: &SearchedMemory) -> RelevanceSigns {
        let names = names(memory);
        let named: Vec<&String> = names.iter().filter(|name| self.files.contains(name.as_str())).collect();
        let having = |name: &&String| self.with_file.get(*name).copied().unwrap_or(1) as f64;
        RelevanceSigns {
            named_files: named.len().min(NAMED_FILES_MAX) as f64,
            rare_files: named.iter().map(|name| 1.0 / having(name)).fold(0.0, std::ops::Add::add),
            title: self.share(&[&memory.title]),
            lesson: self.share(&[&memory.lesson]),
            files: self.share(&[&memory.edited, &memory.read]),
            same_task: self.same_task(&memory.title),
        }
    }

    /// How far a title and the query's line have the same words: as many of the one as of the other, above one half.
    fn same_task(&self, title: &str) -> f64 {
        let title: BTreeSet<&str> = stems(title).collect();
        let both = title.iter().filter(|word| self.description.contains(**word)).count() as f64;
        let sizes = (title.len() * self.description.len()) as f64;
        if sizes > 0.0 { (both / sizes.sqrt() - 0.5).max(0.0) * 2.0 } else { 0.0 }
    }

    /// Which share of these words the query has, rare ones counting more.
    fn share(&self, fields: &[&str]) -> f64 {
        // In alphabetical order, so that the same words give the same sums.
        let words: BTreeSet<&str> = fields.iter().flat_map(|field| stems(field)).collect();
        let (mut had, mut all) = (0.0, 0.0);
        for word in words {
            let having = self.with_word.get(word).copied().unwrap_or(0) as f64;
            let rarity = (1.0 + self.candidates as f64 / (having + 0.5)).ln().max(RARITY_MIN);
            all += rarity;
            if self.words.contains(word) {
                had += rarity;
            }
        }
        if all > 0.0 { had / all } else { 0.0 }
    }
}

fn weights_of(memory: &SearchedMemory) -> &'static GateWeights {
    let has_files = !(memory.edited_files.is_empty() && memory.other_files.is_empty());
    if has_files { &WITH_FILES } else { &WITHOUT_FILES }
}

fn weighed(signs: &RelevanceSigns, weights: &GateWeights) -> f64 {
    let GateWeights { signs: weights, base } = weights;
    let RelevanceSigns { named_files, rare_files, title, lesson, files, same_task } = signs;
    if named_files + title + lesson + files == 0.0 {
        return 0.0;
    }
    let sum = weights.named_files * named_files
        + weights.rare_files * rare_files
        + weights.title * title
        + weights.lesson * lesson
        + weights.files * files
        + weights.same_task * same_task;
    1.0 / (1.0 + (-(base + sum)).exp())
}

fn stems(field: &str) -> impl Iterator<Item = &str> {
    field.split_ascii_whitespace()
}

/// The names of a memory's files, without their folders.
fn names(memory: &SearchedMemory) -> BTreeSet<String> {
    memory.edited_files.iter().chain(&memory.other_files).map(|path| file_name(path)).collect()
}

#[cfg(test)]
mod tests;
