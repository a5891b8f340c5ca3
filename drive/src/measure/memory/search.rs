//! Searches memories as infold does: the store's part is played by plain BM25, the rest is the core's own.

use infold_core::memory::{
    CANDIDATES_MAX, MemoryQuery, QueryTexts, RankCandidate, SearchedMemory, TextVector, WordFrequencies, rank,
};

use super::plain::PlainTexts;
use super::recorded::RecordedQuery;

/// What every candidate is believed: the recordings say nothing about it.
const CONFIDENCE: f64 = 1.0;

/// Something to be found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought<'a> {
    pub found_by: &'a SearchedMemory,
    /// When it was over, as a number that grows with time.
    pub ended: u64,
    /// Its vector, where meaning counts.
    pub vector: Option<&'a TextVector>,
}

/// What a search found.
pub(super) struct SearchFound {
    pub query: MemoryQuery,
    /// The positions of what was found, the best first.
    pub order: Vec<usize>,
}

/// Whether nearness of meaning counts beside words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Counts,
    IsLeftOut,
}

/// Searches: the store finds candidates by the rarest words, and the core ranks them.
pub(super) fn search(query: &RecordedQuery, meaning: Meaning, all: &[Sought<'_>]) -> SearchFound {
    let (description, prompt) = query.description_and_prompt();
    let wanted = MemoryQuery::new(QueryTexts { description, prompt, git_branch: query.branch.as_deref() });
    let vector = match meaning {
        Meaning::Counts => TextVector::built_in(&query.query),
        Meaning::IsLeftOut => None,
    };
    let texts = PlainTexts::of(all.iter().map(|one| all_fields(one.found_by)));
    let with_word = wanted.looked_up().map(|stem| (stem.to_owned(), texts.having(stem) as u64)).collect();
    let frequencies = WordFrequencies { memories: all.len() as u64, with_word };

    let searched = texts.scores(wanted.searched(&frequencies).into_iter());
    let mut found: Vec<usize> = (0..all.len()).filter(|at| searched[*at] > 0.0).collect();
    found.sort_by(|a, b| searched[*b].total_cmp(&searched[*a]).then(a.cmp(b)));
    found.truncate(CANDIDATES_MAX);

    let candidate = |at: &usize| RankCandidate {
        memory: all[*at].found_by,
        made_at_ms: all[*at].ended,
        confidence: CONFIDENCE,
        has_changed: false,
        is_merged: true,
        meaning: vector.as_ref().zip(all[*at].vector).and_then(|(one, other)| one.cosine(other)),
    };
    let candidates: Vec<RankCandidate<'_>> = found.iter().map(candidate).collect();
    let ranked = rank(&wanted, &frequencies, &candidates);
    let order = ranked.into_iter().map(|ranked| found[ranked.candidate]).collect();
    SearchFound { query: wanted, order }
}

/// All that a store searches.
fn all_fields(memory: &SearchedMemory) -> Vec<&str> {
    let SearchedMemory { title, lesson, edited, read, commands, git, .. } = memory;
    [title, lesson, edited, read, commands, git].map(String::as_str).to_vec()
}
