//! What the files of memories say for them: being named in the query, or being rare and shared with the best ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::files::{file_name, last_parts};
use super::super::query::MemoryQuery;
use super::super::searched::SearchedMemory;

/// Parts of a path that tell two files apart.
const PARTS: usize = 3;
/// The best by words, whose files count.
const BEST: usize = 5;
/// What a file counts that was not edited.
const READ_WEIGHT: f64 = 0.3;
/// A memory with many files is about none of them: its score is divided by the root of their number and this.
const NAMED_FILES_FREE: f64 = 3.0;
const SHARED_FILES_FREE: f64 = 4.0;

/// How much of what the query names each memory has, rare files more than others.
pub(super) fn named_files(query: &MemoryQuery, memories: &[&SearchedMemory]) -> Vec<f64> {
    let names: Vec<BTreeSet<String>> = memories.iter().map(|memory| names_of(memory)).collect();
    let having = counts(names.iter().flatten().map(String::as_str));
    let score = |names: &BTreeSet<String>| {
        let named = names.intersection(&query.files);
        let each = named.map(|name| rarity(memories.len(), having[name.as_str()]));
        each.fold(0.0, std::ops::Add::add) / (NAMED_FILES_FREE + names.len() as f64).sqrt()
    };
    names.iter().map(score).collect()
}

/// The names of a memory's files, without their folders.
pub(super) fn names_of(memory: &SearchedMemory) -> BTreeSet<String> {
    memory.edited_files.iter().chain(&memory.other_files).map(|path| file_name(path)).collect()
}

/// How much each memory shares rare files with those that match best by `words`.
pub(super) fn shared_files(words: &[f64], memories: &[&SearchedMemory]) -> Vec<f64> {
    let files: Vec<BTreeMap<&str, f64>> = memories.iter().map(|memory| weighed_files(memory)).collect();
    let having = counts(files.iter().flat_map(|files| files.keys().copied()));
    let largest = words.iter().copied().fold(0.0, f64::max);

    let mut best: Vec<usize> = (0..memories.len()).filter(|at| words[*at] > 0.0).collect();
    best.sort_by(|a, b| words[*b].total_cmp(&words[*a]).then(a.cmp(b)));
    let mut wanted: BTreeMap<&str, f64> = BTreeMap::new();
    for at in best.into_iter().take(BEST) {
        for (file, weight) in &files[at] {
            *wanted.entry(file).or_default() += weight * words[at] / largest;
        }
    }

    let score = |files: &BTreeMap<&str, f64>| {
        let shared = files.iter().filter_map(|(file, weight)| Some((wanted.get(file)? * weight, having[file])));
        let each = shared.map(|(weight, having)| weight * rarity(memories.len(), having).powi(2));
        each.fold(0.0, std::ops::Add::add) / (SHARED_FILES_FREE + files.values().sum::<f64>()).sqrt()
    };
    files.iter().map(score).collect()
}

/// The files of a memory, with what each counts.
fn weighed_files(memory: &SearchedMemory) -> BTreeMap<&str, f64> {
    let read = memory.other_files.iter().map(|path| (last_parts(path, PARTS), READ_WEIGHT));
    // Later entries replace earlier ones: a file that was read and edited counts as edited.
    read.chain(memory.edited_files.iter().map(|path| (last_parts(path, PARTS), 1.0))).collect()
}

/// How often each is there.
fn counts<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn rarity(all: usize, having: usize) -> f64 {
    (1.0 + all as f64 / having.max(1) as f64).ln()
}
