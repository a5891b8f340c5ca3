//! Claims that do not hold are named.

use super::super::later::{FilesFound, LaterTask, ShownLessons};
use super::super::retrieval::{QueryFound, WayFound};
use super::*;

fn found(of_ways: [f64; 5]) -> QueryFound {
    QueryFound::new("a query", "a repository", of_ways.map(|ndcg| WayFound { ndcg, hit: ndcg }))
}

fn part<'a>(name: &str, found: &'a [QueryFound]) -> QueryPart<'a> {
    QueryPart { name: name.to_owned(), found: found.iter().collect() }
}

#[test]
fn being_no_better_than_the_best_other_or_worse_with_vectors_is_a_claim_missed() {
    let missed = |of_ways: [f64; 5]| {
        let found = [found(of_ways), found(of_ways)];
        of_retrieval(&part("all", &found), &[part("one", &found)], &[NDCG, HIT])
    };
    assert!(missed([0.1, 0.2, 0.3, 0.4, 0.4]).is_empty());
    assert_eq!(missed([0.5, 0.2, 0.3, 0.5, 0.6]).len(), 2, "by both figures, words only are no better");
    assert_eq!(missed([0.1, 0.2, 0.3, 0.5, 0.4]), ["all: vectors lower nDCG@10 by 0.100"]);
    let below = "all one, infold: hit@5 is below BM25 with git branch by 0.200".to_owned();
    assert!(missed([0.1, 0.2, 0.6, 0.4, 0.4]).contains(&below));
}

#[test]
fn few_lessons_or_lessons_that_find_nothing_are_claims_missed() {
    let task = |ours: f64| {
        let files = |figure| FilesFound { hit: figure, share: figure };
        let (ungated, gated) = (ShownLessons::default(), ShownLessons::default());
        LaterTask { id: String::new(), newest: files(0.5), plain: files(0.0), ours: files(ours), ungated, gated }
    };
    let missed = |new: usize, ours: f64| {
        let tasks = [task(ours)];
        let later = LaterPart { name: "all", tasks: tasks.iter().collect() };
        of_lessons(&Lessons { subtasks: 10, new, ..Lessons::default() }, &later).len()
    };
    assert_eq!((missed(6, 0.9), missed(5, 0.9), missed(6, 0.4)), (0, 1, 2));
}
