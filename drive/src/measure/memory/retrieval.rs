//! How well a query finds what turned out to be about the same files: infold's ranking beside what it is compared with.

use infold_core::memory::{SearchedMemory, SearchedTexts};

use super::plain::PlainTexts;
use super::recorded::{Findable, RecordedQuery, RecordedWork};
use super::search::{Meaning, Sought, search};

/// The places of nDCG and of hits.
const NDCG_PLACES: usize = 10;
const HIT_PLACES: usize = 5;

/// The ways to order what could be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Recency,
    PlainWords,
    PlainWordsAndBranch,
    Ours,
    OursWithMeaning,
}

impl Way {
    pub const ALL: [Self; 5] =
        [Self::Recency, Self::PlainWords, Self::PlainWordsAndBranch, Self::Ours, Self::OursWithMeaning];

    /// Those that infold is compared with.
    pub const OTHERS: [Self; 3] = [Self::Recency, Self::PlainWords, Self::PlainWordsAndBranch];

    pub fn name(self) -> &'static str {
        match self {
            Self::Recency => "newest first",
            Self::PlainWords => "BM25",
            Self::PlainWordsAndBranch => "BM25 with git branch",
            Self::Ours => "infold, words only",
            Self::OursWithMeaning => "infold",
        }
    }
}

/// How well one way did for one query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct WayFound {
    pub ndcg: f64,
    pub hit: f64,
}

/// How well each way did for one query.
#[derive(Debug)]
pub(super) struct QueryFound {
    pub id: String,
    pub repo: String,
    found: [WayFound; Way::ALL.len()],
}

impl QueryFound {
    pub fn new(id: &str, repo: &str, found: [WayFound; Way::ALL.len()]) -> Self {
        Self { id: id.to_owned(), repo: repo.to_owned(), found }
    }

    pub fn by(&self, way: Way) -> WayFound {
        self.found[way as usize]
    }
}

/// Runs queries in every way.
pub(super) fn run(recorded: &RecordedWork, queries: &[RecordedQuery]) -> Vec<QueryFound> {
    queries.iter().map(|query| one(recorded, query)).collect()
}

fn one(recorded: &RecordedWork, query: &RecordedQuery) -> QueryFound {
    let corpus = recorded.corpus(query);
    assert_eq!(corpus.len(), query.corpus, "{}: what could be found is not what the data says", query.id());
    let words = stems(&query.query);
    let branch = stems(query.branch.as_deref().unwrap_or_default());
    let found = Way::ALL.map(|way| {
        let order = match way {
            Way::Recency => by_score(&corpus, &vec![0.0; corpus.len()]),
            Way::PlainWords => {
                let texts = PlainTexts::of(corpus.iter().map(|one| said(&one.found_by)));
                by_score(&corpus, &texts.scores(words.split_ascii_whitespace()))
            }
            Way::PlainWordsAndBranch => {
                let texts = PlainTexts::of(corpus.iter().map(|one| said_on_branch(&one.found_by)));
                by_score(&corpus, &texts.scores(words.split_ascii_whitespace().chain(branch.split_ascii_whitespace())))
            }
            Way::Ours => ours(&corpus, query, Meaning::IsLeftOut),
            Way::OursWithMeaning => ours(&corpus, query, Meaning::Counts),
        };
        let order: Vec<&str> = order.into_iter().map(|at| corpus[at].id.as_str()).collect();
        WayFound { ndcg: ndcg(&order, query), hit: hit(&order, query) }
    });
    QueryFound::new(query.id(), &query.repo, found)
}

/// What was asked and answered.
fn said(memory: &SearchedMemory) -> Vec<&str> {
    vec![memory.title.as_str(), memory.lesson.as_str()]
}

fn said_on_branch(memory: &SearchedMemory) -> Vec<&str> {
    vec![memory.title.as_str(), memory.lesson.as_str(), memory.git.as_str()]
}

pub(super) fn stems(text: &str) -> String {
    SearchedMemory::of(&SearchedTexts { title: text, ..SearchedTexts::default() }).title
}

/// The best score first, and of equal ones the newest.
fn by_score(corpus: &[&Findable], scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..corpus.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(corpus[*b].ended().cmp(&corpus[*a].ended())));
    order
}

/// The order in which infold would have it.
fn ours(corpus: &[&Findable], query: &RecordedQuery, meaning: Meaning) -> Vec<usize> {
    let sought: Vec<Sought<'_>> = corpus.iter().map(|one| one.sought()).collect();
    search(query, meaning, &sought).order
}

/// How far the order is from the best one, by the grades of the first ten.
fn ndcg(order: &[&str], query: &RecordedQuery) -> f64 {
    let discounted = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
        grades.take(NDCG_PLACES).enumerate().map(|(place, grade)| grade / (place as f64 + 2.0).log2()).sum()
    };
    let mut best: Vec<f64> = query.grade.values().copied().collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let best = discounted(&mut best.into_iter());
    let got = discounted(&mut order.iter().map(|id| query.grade.get(*id).copied().unwrap_or(0.0)));
    if best > 0.0 { got / best } else { 0.0 }
}

/// Whether one of the first five is one that should be found.
fn hit(order: &[&str], query: &RecordedQuery) -> f64 {
    let is_gold = |id: &&str| query.gold.iter().any(|gold| gold == id);
    if order.iter().take(HIT_PLACES).any(is_gold) { 1.0 } else { 0.0 }
}
