//! How well the words of a query match the fields of memories: BM25, with the rarity that words have in the project.

use std::collections::HashMap;

use super::super::query::{MemoryQuery, WordFrequencies, rarity};
use super::super::searched::SearchedMemory;

/// How soon more of the same word counts less.
const SATURATION: f64 = 1.2;
/// From 0, where a text's length makes no difference, to 1, where a word in a text twice as long counts half.
const BY_LENGTH: f64 = 0.75;

/// The fields whose words count. Commands are searched, but what they say is mostly noise.
const FIELDS: usize = 5;
const EDITED: usize = 2;
const READ: usize = 3;
const GIT: usize = 4;

fn fields(memory: &SearchedMemory) -> [&str; FIELDS] {
    [&memory.title, &memory.lesson, &memory.edited, &memory.read, &memory.git]
}

/// A word of a query.
struct WeighedWord {
    times: f64,
    /// What it is worth by how many memories of the project have it.
    rarity: f64,
    is_of_branch: bool,
}

/// The words of a query in some memories.
pub(super) struct WordMatches {
    words: Vec<WeighedWord>,
    memories: Vec<MemoryMatch>,
}

/// The words of a query in one memory.
struct MemoryMatch {
    /// How often each word is in each field.
    times: Vec<[u32; FIELDS]>,
    /// The words of each field.
    lengths: [u32; FIELDS],
}

impl WordMatches {
    pub fn of(query: &MemoryQuery, frequencies: &WordFrequencies, memories: &[&SearchedMemory]) -> Self {
        let weighed = query.words.iter().map(|word| WeighedWord {
            times: f64::from(word.times),
            rarity: frequencies.rarity(&word.stem),
            is_of_branch: word.is_of_branch,
        });
        let positions = query.words.iter().enumerate().map(|(at, word)| (word.stem.as_str(), at)).collect();
        Self {
            words: weighed.collect(),
            memories: memories.iter().map(|memory| MemoryMatch::of(memory, &positions)).collect(),
        }
    }

    /// How well each memory matches in all its fields together.
    pub fn all_fields(&self) -> Vec<f64> {
        let rarities: Vec<f64> = self.words.iter().map(|word| word.rarity).collect();
        self.scores(|of_fields| of_fields.iter().sum(), |_| true, &rarities)
    }

    /// How well the paths of its edited files match.
    pub fn edited(&self) -> Vec<f64> {
        self.in_field(|of_fields| of_fields[EDITED], |word| !word.is_of_branch)
    }

    /// How well the paths of the files match that were read.
    pub fn read(&self) -> Vec<f64> {
        self.in_field(|of_fields| of_fields[READ], |word| !word.is_of_branch)
    }

    /// How well its git branch's name matches that of the query.
    pub fn git_branch(&self) -> Vec<f64> {
        self.in_field(|of_fields| of_fields[GIT], |word| word.is_of_branch)
    }

    /// How well one field matches. A word such as `src` is rare in what is said and in every path, so here a word is
    /// worth what it is among the candidates' fields.
    fn in_field(&self, field: fn(&[u32; FIELDS]) -> u32, counts: fn(&WeighedWord) -> bool) -> Vec<f64> {
        let in_field = |at: usize| {
            let having = self.memories.iter().filter(|memory| field(&memory.times[at]) > 0).count() as u64;
            rarity(self.memories.len() as u64, having)
        };
        let rarities: Vec<f64> = (0..self.words.len()).map(in_field).collect();
        self.scores(field, counts, &rarities)
    }

    fn scores(
        &self,
        in_fields: fn(&[u32; FIELDS]) -> u32,
        counts: fn(&WeighedWord) -> bool,
        rarities: &[f64],
    ) -> Vec<f64> {
        let lengths: Vec<f64> = self.memories.iter().map(|memory| f64::from(in_fields(&memory.lengths))).collect();
        let mean = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
        let score = |(memory, length): (&MemoryMatch, &f64)| {
            let damping = SATURATION * (1.0 - BY_LENGTH + BY_LENGTH * length / mean);
            let each = self.words.iter().zip(rarities).zip(&memory.times).filter(|((word, _), _)| counts(word));
            let each = each.map(|((word, rarity), times)| {
                let times = f64::from(in_fields(times));
                word.times * rarity * times * (SATURATION + 1.0) / (times + damping)
            });
            each.sum()
        };
        self.memories.iter().zip(&lengths).map(score).collect()
    }
}

impl MemoryMatch {
    fn of(memory: &SearchedMemory, positions: &HashMap<&str, usize>) -> Self {
        let (mut times, mut lengths) = (vec![[0; FIELDS]; positions.len()], [0; FIELDS]);
        for (field, stems) in fields(memory).into_iter().enumerate() {
            for stem in stems.split_ascii_whitespace() {
                lengths[field] += 1;
                if let Some(at) = positions.get(stem) {
                    times[*at][field] += 1;
                }
            }
        }
        Self { times, lengths }
    }
}
