//! In what order memories come, and what holds for any of them.

use std::collections::{BTreeSet, HashMap};

use insta::assert_snapshot;
use proptest::prelude::*;

use super::super::query::QueryTexts;
use super::super::searched::SearchedTexts;
use super::*;

fn memory(title: &str, edited: &[&str], git_branch: Option<&str>) -> SearchedMemory {
    SearchedMemory::of(&SearchedTexts { title, edited, git_branch, ..SearchedTexts::default() })
}

fn candidate(memory: &SearchedMemory) -> RankCandidate<'_> {
    let (made_at_ms, confidence, has_changed, is_merged, meaning) = (0, 0.8, false, true, None);
    RankCandidate { memory, made_at_ms, confidence, has_changed, is_merged, meaning }
}

fn query(description: &str, git_branch: Option<&str>) -> MemoryQuery {
    MemoryQuery::new(QueryTexts { description, prompt: "", git_branch })
}

/// The frequencies that a store with only these memories has.
fn frequencies(candidates: &[RankCandidate<'_>]) -> WordFrequencies {
    let mut with_word: HashMap<String, u64> = HashMap::new();
    for RankCandidate { memory, .. } in candidates {
        let all = [&memory.title, &memory.lesson, &memory.edited, &memory.read, &memory.git];
        let stems: BTreeSet<&str> = all.into_iter().flat_map(|stems| stems.split_ascii_whitespace()).collect();
        stems.into_iter().for_each(|stem| *with_word.entry(stem.to_owned()).or_default() += 1);
    }
    WordFrequencies { memories: candidates.len() as u64, with_word }
}

fn order(query: &MemoryQuery, candidates: &[RankCandidate<'_>]) -> Vec<usize> {
    rank(query, &frequencies(candidates), candidates).iter().map(|ranked| ranked.candidate).collect()
}

#[test]
fn each_sign_and_what_it_added_can_be_read() {
    let memories = [
        memory("Rebuild the fixtures before the snapshot tests", &["tests/fixtures.rs"], Some("fix/snapshots")),
        memory("The parser keeps comments", &["src/parser.rs", "src/lexer.rs"], None),
        memory("Lexer modes are a stack", &["src/lexer.rs"], None),
    ];
    let candidates: Vec<RankCandidate<'_>> = memories.iter().map(candidate).collect();
    let query = query("why does parser.rs drop comments", Some("fix/snapshots"));
    let ranked = rank(&query, &frequencies(&candidates), &candidates);
    let shown: Vec<String> = ranked
        .iter()
        .map(|RankedMemory { candidate, score, signs, factor }| {
            let RankSigns { words, edited, branch_words, same_branch, named_files, shared_files, .. } = signs;
            format!(
                "{candidate}: {score:.2} = {factor:.2} x (words {words:.2}, edited {edited:.2}, branch {branch_words:.2}, \
                 same {same_branch:.2}, named {named_files:.2}, shared {shared_files:.2}, newest {:.2})",
                signs.recency
            )
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r"
    1: 2.46 = 0.90 x (words 1.00, edited 0.25, branch 0.00, same 0.00, named 1.00, shared 0.30, newest 0.18)
    0: 2.02 = 0.90 x (words 0.94, edited 0.04, branch 0.35, same 0.50, named 0.00, shared 0.21, newest 0.20)
    2: 0.33 = 0.90 x (words 0.06, edited 0.04, branch 0.00, same 0.00, named 0.00, shared 0.10, newest 0.17)
    ");
}

#[test]
fn what_speaks_against_a_memory_takes_it_down() {
    let same = memory("the parser keeps comments", &[], Some("topic"));
    let good = candidate(&same);
    let worse = [
        RankCandidate { confidence: 0.5, ..good },
        RankCandidate { has_changed: true, ..good },
        RankCandidate { is_merged: false, ..good },
    ];
    let query = query("parser comments", None);
    for worse in worse {
        assert_eq!(order(&query, &[worse, good]), [1, 0], "{worse:?}");
    }
    let at_home =
        MemoryQuery::new(QueryTexts { description: "parser comments", prompt: "", git_branch: Some("topic") });
    assert_eq!(order(&at_home, &[RankCandidate { is_merged: false, ..good }, good]), [0, 1], "its own branch");
}

#[test]
fn of_equal_memories_the_newer_comes_first_and_then_the_one_given_first() {
    let same = memory("the parser keeps comments", &[], None);
    let old = candidate(&same);
    let new = RankCandidate { made_at_ms: 5, ..old };
    assert_eq!(order(&query("parser", None), &[old, new]), [1, 0]);
    assert_eq!(order(&query("nothing of it", None), &[old, old]), [0, 1]);
}

#[test]
fn nearness_of_meaning_counts_beside_the_words() {
    let same = memory("the parser keeps comments", &[], None);
    let far = RankCandidate { meaning: Some(0.1), ..candidate(&same) };
    let near = RankCandidate { meaning: Some(0.9), ..candidate(&same) };
    assert_eq!(order(&query("parser", None), &[far, near, far]), [1, 0, 2]);
}

proptest! {
    #[test]
    fn more_confidence_never_lowers_a_memory(
        titles in prop::collection::vec("[a-d ]{1,12}", 1..8),
        lower in 0.0..1.0_f64,
        more in 0.0..1.0_f64,
    ) {
        let memories: Vec<SearchedMemory> = titles.iter().map(|title| memory(title, &["b/c.rs"], None)).collect();
        let mut candidates: Vec<RankCandidate<'_>> = memories.iter().map(candidate).collect();
        let query = query("b c.rs d", None);
        candidates[0].confidence = lower;
        let place = |candidates: &[RankCandidate<'_>]| order(&query, candidates).iter().position(|at| *at == 0);
        let before = place(&candidates);
        candidates[0].confidence = (lower + more).min(1.0);
        prop_assert!(place(&candidates) <= before);
    }

    #[test]
    fn every_candidate_is_ranked_once_with_a_finite_score(titles in prop::collection::vec("\\PC{0,40}", 0..12)) {
        let memories: Vec<SearchedMemory> = titles.iter().map(|title| memory(title, &[title], Some(title))).collect();
        let candidates: Vec<RankCandidate<'_>> = memories.iter().map(candidate).collect();
        let query = query(&titles.join(" "), titles.first().map(String::as_str));
        let ranked = rank(&query, &frequencies(&candidates), &candidates);
        let places: BTreeSet<usize> = ranked.iter().map(|one| one.candidate).collect();
        prop_assert_eq!(places.len(), candidates.len());
        prop_assert!(ranked.iter().all(|one| one.score.is_finite() && one.score >= 0.0));
    }
}
