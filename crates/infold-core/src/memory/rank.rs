//! Orders the memories that a search found by how likely they are to be of use.
//!
//! Eight signs are added up, each divided by its largest value among the candidates: the words of all fields (BM25),
//! those of the files that were edited and that were read, those of the git branch's name, being of the same git branch,
//! being recent, having files that the query names, and sharing rare files with the best by words. Nearness of
//! meaning is a ninth, where vectors are there. The sum is made smaller by what speaks against a memory: little
//! confidence, code that has changed since, work on another git branch that was never merged.
//!
//! What must hold: the same candidates give the same order; more confidence never lowers a memory. The weights are
//! coarse, to hold for projects that nobody has seen; `docs/measurements.md` has what they give.

mod shared_files;
mod word_match;

use super::query::{MemoryQuery, WordFrequencies};
use super::searched::SearchedMemory;
use shared_files::{named_files, shared_files};
use word_match::WordMatches;

/// Candidates that are ranked; a store gives no more.
pub const CANDIDATES_MAX: usize = 120;

/// What each sign counts.
const WEIGHTS: RankSigns = RankSigns {
    words: 1.0,
    edited: 0.25,
    read: 0.4,
    branch_words: 0.35,
    same_branch: 0.5,
    recency: 0.2,
    named_files: 1.0,
    shared_files: 0.3,
    meaning: 0.05,
};
/// The age, as a place among the candidates by age, at which recency counts half.
const RECENCY_HALF: f64 = 10.0;
/// What is left of the score where the code has changed since.
const CHANGED_FACTOR: f64 = 0.6;
/// What is left of the score of what another git branch learnt and was never merged.
const UNMERGED_FACTOR: f64 = 0.7;

/// A memory that a search found.
#[derive(Debug, Clone, Copy)]
pub struct RankCandidate<'a> {
    /// What it is found by.
    pub memory: &'a SearchedMemory,
    /// When it was made, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// How far it is to be believed, from 0 to 1.
    pub confidence: f64,
    /// Whether the code that it is about has changed since.
    pub has_changed: bool,
    /// Whether the work that it comes from is on the branch on which everything ends up.
    pub is_merged: bool,
    /// The cosine of its vector and the query's, where both are there.
    pub meaning: Option<f64>,
}

/// How much each sign says for a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankSigns {
    /// Words of all fields.
    pub words: f64,
    /// Words of the paths of edited files.
    pub edited: f64,
    /// Words of the paths of files that were read.
    pub read: f64,
    /// Words of the git branch's name.
    pub branch_words: f64,
    /// Being of the same git branch.
    pub same_branch: f64,
    /// Being recent.
    pub recency: f64,
    /// Having files that the query names.
    pub named_files: f64,
    /// Sharing rare files with the best by words.
    pub shared_files: f64,
    /// Nearness of meaning.
    pub meaning: f64,
}

impl RankSigns {
    fn map2(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            words: f(self.words, other.words),
            edited: f(self.edited, other.edited),
            read: f(self.read, other.read),
            branch_words: f(self.branch_words, other.branch_words),
            same_branch: f(self.same_branch, other.same_branch),
            recency: f(self.recency, other.recency),
            named_files: f(self.named_files, other.named_files),
            shared_files: f(self.shared_files, other.shared_files),
            meaning: f(self.meaning, other.meaning),
        }
    }

    /// Each sign with the word for it.
    pub fn parts(&self) -> [(&'static str, f64); 9] {
        [
            ("words", self.words),
            ("edited files", self.edited),
            ("read files", self.read),
            ("git branch", self.branch_words),
            ("same git branch", self.same_branch),
            ("recency", self.recency),
            ("files named", self.named_files),
            ("files shared", self.shared_files),
            ("meaning", self.meaning),
        ]
    }

    fn sum(&self) -> f64 {
        let Self { words, edited, read, branch_words, same_branch, recency, named_files, shared_files, meaning } = self;
        words + edited + read + branch_words + same_branch + recency + named_files + shared_files + meaning
    }
}

/// A candidate in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedMemory {
    /// Its position among the candidates as they were given.
    pub candidate: usize,
    /// What it is ordered by; only to be compared with others of the same query.
    pub score: f64,
    /// What each sign added, before what speaks against it.
    pub signs: RankSigns,
    /// What is left of the sum after what speaks against it, from 0 to 1.
    pub factor: f64,
}

/// The candidates, the best first. Of equal ones the newer is first, then the one that was given first.
pub fn rank(query: &MemoryQuery, frequencies: &WordFrequencies, candidates: &[RankCandidate<'_>]) -> Vec<RankedMemory> {
    let signs = signs(query, frequencies, candidates);
    let largest = signs.iter().fold(RankSigns::default(), |largest, signs| largest.map2(signs, f64::max));
    let scale = |sign: f64, largest: f64| if largest > 0.0 { sign / largest } else { 0.0 };

    let ranked = candidates.iter().zip(&signs).enumerate().map(|(position, (candidate, signs))| {
        let signs = RankSigns { meaning: signs.meaning, ..signs.map2(&largest, scale) };
        let signs = signs.map2(&WEIGHTS, |sign, weight| sign * weight);
        let factor = factor(query, candidate);
        RankedMemory { candidate: position, score: signs.sum().max(0.0) * factor, signs, factor }
    });
    let mut ranked: Vec<RankedMemory> = ranked.collect();
    let made_at = |one: &RankedMemory| candidates[one.candidate].made_at_ms;
    ranked.sort_by(|a, b| {
        let newer = made_at(b).cmp(&made_at(a));
        b.score.total_cmp(&a.score).then(newer).then(a.candidate.cmp(&b.candidate))
    });
    ranked
}

/// The signs of each candidate; all but the meaning are still to be divided by the largest.
fn signs(query: &MemoryQuery, frequencies: &WordFrequencies, candidates: &[RankCandidate<'_>]) -> Vec<RankSigns> {
    let memories: Vec<&SearchedMemory> = candidates.iter().map(|candidate| candidate.memory).collect();
    let matches = WordMatches::of(query, frequencies, &memories);
    let words = matches.all_fields();
    let (edited, read, branch_words) = (matches.edited(), matches.read(), matches.git_branch());
    let (recency, meaning) = (recency(candidates), meaning(candidates));
    let (named, shared) = (named_files(query, &memories), shared_files(&words, &memories));

    let is_same = |memory: &SearchedMemory| query.git_branch.is_some() && memory.git_branch == query.git_branch;
    let signs = memories.iter().enumerate().map(|(at, memory)| RankSigns {
        words: words[at],
        edited: edited[at],
        read: read[at],
        branch_words: branch_words[at],
        same_branch: if is_same(memory) { 1.0 } else { 0.0 },
        recency: recency[at],
        named_files: named[at],
        shared_files: shared[at],
        meaning: meaning[at],
    });
    signs.collect()
}

/// How recent each candidate is, by its place among them.
fn recency(candidates: &[RankCandidate<'_>]) -> Vec<f64> {
    let mut newest_first: Vec<usize> = (0..candidates.len()).collect();
    newest_first.sort_by_key(|at| std::cmp::Reverse(candidates[*at].made_at_ms));
    let mut recency = vec![0.0; candidates.len()];
    for (place, at) in newest_first.into_iter().enumerate() {
        recency[at] = 1.0 / (1.0 + place as f64 / RECENCY_HALF);
    }
    recency
}

/// How near in meaning each candidate is, compared with the others: from a third below to one above.
fn meaning(candidates: &[RankCandidate<'_>]) -> Vec<f64> {
    let known: Vec<f64> = candidates.iter().filter_map(|candidate| candidate.meaning).collect();
    let count = known.len() as f64;
    if known.len() < 2 {
        return vec![0.0; candidates.len()];
    }
    let mean = known.iter().sum::<f64>() / count;
    let spread = (known.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt();
    let compared = |cosine: f64| ((cosine - mean) / (spread + 1e-6)).clamp(-1.0, 3.0) / 3.0;
    candidates.iter().map(|candidate| candidate.meaning.map_or(0.0, compared)).collect()
}

/// What is left of a candidate's score after what speaks against it.
fn factor(query: &MemoryQuery, candidate: &RankCandidate<'_>) -> f64 {
    let confidence = 0.5 + candidate.confidence.clamp(0.0, 1.0) / 2.0;
    let changed = if candidate.has_changed { CHANGED_FACTOR } else { 1.0 };
    let is_elsewhere = candidate.memory.git_branch.is_some() && candidate.memory.git_branch != query.git_branch;
    let unmerged = if is_elsewhere && !candidate.is_merged { UNMERGED_FACTOR } else { 1.0 };
    confidence * changed * unmerged
}

#[cfg(test)]
mod tests;
