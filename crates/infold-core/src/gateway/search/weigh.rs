//! Counts the words of all tools, and says what each is worth in each tool.

use std::collections::BTreeMap;

use super::Posting;
use crate::words::{SearchWord, WordExtent};

/// The fields of a tool: its name, its server's name, its description, the names of its parameters, and their texts.
pub(super) const FIELDS: usize = 5;
const NAME: usize = 0;

/// How a field counts.
struct FieldWeight {
    weight: f32,
    /// From 0, where a field's length makes no difference, to 1, where a word in a field twice as long counts half.
    by_length: f32,
}

const FIELD_WEIGHTS: [FieldWeight; FIELDS] = [
    FieldWeight { weight: 3.0, by_length: 0.3 },
    FieldWeight { weight: 1.0, by_length: 0.3 },
    FieldWeight { weight: 1.5, by_length: 0.6 },
    FieldWeight { weight: 1.0, by_length: 0.7 },
    FieldWeight { weight: 0.8, by_length: 0.8 },
];

/// How soon more of the same word counts less.
const SATURATION: f32 = 0.8;

/// How often each word is in each tool.
#[derive(Debug, Default)]
pub(super) struct WordCounts {
    words: BTreeMap<String, Vec<WordInTool>>,
    /// The words of each field of each tool.
    lengths: Vec<[u32; FIELDS]>,
}

/// How often a word is in one tool.
#[derive(Debug)]
struct WordInTool {
    tool: u32,
    times: [u16; FIELDS],
    /// Whether the tool's name is made of it and others, if there are any.
    is_of_name: bool,
}

impl WordCounts {
    /// Counts the words of the next tool.
    pub fn add(&mut self, fields: [Vec<SearchWord>; FIELDS]) {
        let tool = self.lengths.len() as u32;
        let mut lengths = [0; FIELDS];
        for (field, words) in fields.into_iter().enumerate() {
            for word in words {
                let counted = self.counted(word.text, tool);
                counted.times[field] = counted.times[field].saturating_add(1);
                // A whole is the same again as its parts.
                if word.extent == WordExtent::Part {
                    counted.is_of_name |= field == NAME;
                    lengths[field] += 1;
                }
            }
        }
        self.lengths.push(lengths);
    }

    /// Where a word of the tool that is last is counted.
    fn counted(&mut self, word: String, tool: u32) -> &mut WordInTool {
        let all = self.words.entry(word).or_default();
        if all.last().is_none_or(|last| last.tool != tool) {
            all.push(WordInTool { tool, times: [0; FIELDS], is_of_name: false });
        }
        let last = all.len() - 1;
        &mut all[last]
    }

    /// What each word is worth in each tool.
    pub fn weighed(self) -> BTreeMap<String, Vec<Posting>> {
        let means = self.mean_lengths();
        // In alphabetical order, so that sums are the same however the tools are ordered.
        let mut names = vec![0.0; self.lengths.len()];
        for counted in self.words.values() {
            let rarity = self.rarity(counted.len());
            counted.iter().filter(|one| one.is_of_name).for_each(|one| names[one.tool as usize] += rarity);
        }
        let weighed = |counted: &WordInTool, rarity: f32| {
            let tool = counted.tool as usize;
            let weight = weight(counted, &self.lengths[tool], &means);
            let gain = rarity * weight * (SATURATION + 1.0) / (weight + SATURATION);
            let name_share = if counted.is_of_name { rarity / names[tool] } else { 0.0 };
            Posting { tool: counted.tool, gain, name_share }
        };
        let words = self.words.iter().map(|(word, counted)| {
            let rarity = self.rarity(counted.len());
            (word.clone(), counted.iter().map(|one| weighed(one, rarity)).collect())
        });
        words.collect()
    }

    /// What a word is worth that is in so many tools: BM25's inverse document frequency.
    fn rarity(&self, tools: usize) -> f32 {
        let others = (self.lengths.len() - tools) as f32;
        (1.0 + (others + 0.5) / (tools as f32 + 0.5)).ln()
    }

    fn mean_lengths(&self) -> [f32; FIELDS] {
        std::array::from_fn(|field| {
            let sum: u64 = self.lengths.iter().map(|lengths| u64::from(lengths[field])).sum();
            // Where no tool has the field, no word is weighed by it.
            if sum == 0 { 1.0 } else { sum as f32 / self.lengths.len() as f32 }
        })
    }
}

/// How much of a word there is in a tool, over all fields.
fn weight(counted: &WordInTool, lengths: &[u32; FIELDS], means: &[f32; FIELDS]) -> f32 {
    let in_field = |(field, how): (usize, &FieldWeight)| {
        let length = lengths[field] as f32 / means[field];
        how.weight * f32::from(counted.times[field]) / (1.0 - how.by_length + how.by_length * length)
    };
    FIELD_WEIGHTS.iter().enumerate().map(in_field).sum()
}
