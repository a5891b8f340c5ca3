//! Finds tools by what somebody says that they want to do.
//!
//! BM25F over five fields: a word counts by how rare it is among the tools, by the field that it is in, and by how long that
//! field is, and more of the same word counts less and less. Tools whose name the query has in it gain by how much of
//! the name that is. A query that is a tool's name, or has it in it, gets that tool first.
//!
//! What must hold: the same tools and the same query give the same answer, in whatever order the tools were given; any
//! text is a query; what a tool takes in memory, and what a query takes in time, is bounded whatever they say.
//! The figures are those of `docs/measurements.md`; they were chosen coarsely, to hold for tools that nobody has seen.

mod exact;
mod weigh;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::parameters::ParameterTexts;
use crate::words::{SearchWord, words};
use exact::ExactNames;
use weigh::{FIELDS, WordCounts};

/// How much more a tool is worth if all of its name is in the query.
const WHOLE_NAME_GAIN: f32 = 0.5;

/// What is read of a tool's name, server and description, each.
const TEXT_BYTES_MAX: usize = 8_192;
/// What is read of a query.
const QUERY_BYTES_MAX: usize = 4_096;
/// The words of a query that are looked up.
const QUERY_WORDS_MAX: usize = 256;

/// A tool as it is searched.
#[derive(Debug, Clone, Copy)]
pub struct SearchedTool<'a> {
    /// The name that its server calls it.
    pub name: &'a str,
    /// The name of its server; empty where there is none.
    pub server: &'a str,
    /// What it does, in its server's words.
    pub description: &'a str,
    /// The schema of its input.
    pub schema: &'a Value,
}

impl SearchedTool<'_> {
    /// The words of its fields, in the order of the weights that they have.
    fn fields(&self) -> [Vec<SearchWord>; FIELDS] {
        let bounded = |text: &str| words(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)]);
        let parameters = ParameterTexts::of(self.schema);
        [
            bounded(self.name),
            bounded(self.server),
            bounded(self.description),
            words(&parameters.names),
            words(&parameters.texts),
        ]
    }
}

/// A tool that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolHit {
    /// Its position among the tools that the index was made of.
    pub tool: usize,
    /// Whether the query names it; such tools come first.
    pub is_named: bool,
    /// How well it fits; only to be compared with others of the same query.
    pub score: f32,
}

/// Tools by the words that are in them.
#[derive(Debug)]
pub struct ToolIndex {
    /// Each word with the tools that have it, in the order in which they were given.
    words: BTreeMap<String, Vec<Posting>>,
    names: ExactNames,
    /// The place of each tool by name and server, which decides between tools that fit equally well.
    places: Vec<usize>,
}

/// A word in a tool.
#[derive(Debug)]
struct Posting {
    tool: u32,
    /// What it adds to the tool's score.
    gain: f32,
    /// How much it is of the tool's name, from 0 to 1.
    name_share: f32,
}

impl ToolIndex {
    /// An index of these tools.
    pub fn of<'a>(tools: impl IntoIterator<Item = SearchedTool<'a>>) -> Self {
        let (mut counts, mut names) = (WordCounts::default(), ExactNames::default());
        let mut order = Vec::new();
        for (position, tool) in tools.into_iter().enumerate() {
            counts.add(tool.fields());
            names.add(position, tool.server, tool.name);
            order.push((tool.name, tool.server, position));
        }
        order.sort_unstable();
        let mut places = vec![0; order.len()];
        for (place, (_, _, position)) in order.into_iter().enumerate() {
            places[position] = place;
        }
        Self { words: counts.weighed(), names, places }
    }

    /// The tools that fit a query best, the best first, and at most `limit` of them. Tools that have nothing of it are not
    /// among them.
    pub fn find(&self, query: &str, limit: usize) -> Vec<ToolHit> {
        let query = &query[..query.floor_char_boundary(QUERY_BYTES_MAX)];
        // In alphabetical order, so that the same words give the same sums.
        let wanted: BTreeSet<String> = words(query).into_iter().map(|word| word.text).take(QUERY_WORDS_MAX).collect();

        let mut found = vec![ToolMatch::default(); self.places.len()];
        for posting in wanted.iter().filter_map(|word| self.words.get(word)).flatten() {
            let found = &mut found[posting.tool as usize];
            found.gain += posting.gain;
            found.name_share += posting.name_share;
        }
        for tool in self.names.named_in(query) {
            found[tool].is_named = true;
        }

        let mut hits: Vec<ToolHit> = found.iter().enumerate().filter_map(|(tool, found)| found.hit(tool)).collect();
        let order = |a: &ToolHit, b: &ToolHit| {
            let by_score = b.is_named.cmp(&a.is_named).then(b.score.total_cmp(&a.score));
            by_score.then(self.places[a.tool].cmp(&self.places[b.tool]))
        };
        if limit < hits.len() {
            hits.select_nth_unstable_by(limit, order);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(order);
        hits
    }
}

/// What a query finds in one tool.
#[derive(Debug, Clone, Default)]
struct ToolMatch {
    gain: f32,
    name_share: f32,
    is_named: bool,
}

impl ToolMatch {
    fn hit(&self, tool: usize) -> Option<ToolHit> {
        let score = self.gain * (1.0 + WHOLE_NAME_GAIN * self.name_share);
        (self.is_named || score > 0.0).then_some(ToolHit { tool, is_named: self.is_named, score })
    }
}

#[cfg(test)]
mod tests;
