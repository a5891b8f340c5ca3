//! What has to do with a brief and what has not.

use proptest::prelude::*;

use super::super::query::QueryTexts;
use super::super::searched::SearchedTexts;
use super::*;

/// The probability from which on memories are shown, as the settings have it.
const SHOWN_FROM: f64 = 0.4;

fn query(description: &str, prompt: &str) -> MemoryQuery {
    MemoryQuery::new(QueryTexts { description, prompt, git_branch: None })
}

fn memory(title: &str, lesson: &str, edited: &[&str]) -> SearchedMemory {
    SearchedMemory::of(&SearchedTexts { title, lesson, edited, ..SearchedTexts::default() })
}

/// How relevant the first of these memories is.
fn first_of(query: &MemoryQuery, memories: &[SearchedMemory]) -> f64 {
    Relevance::new(query, memories).of(&memories[0])
}

fn fixtures_lesson() -> SearchedMemory {
    let lesson = "The snapshots read fixtures/*.json, which are made by just fixtures. Run it first.";
    memory("Rebuild the fixtures before the snapshot tests", lesson, &[])
}

#[test]
fn the_first_memory_of_a_project_is_shown_where_it_fits_and_nowhere_else() {
    let fits = query("update the snapshot tests", "The schema has changed, so the snapshots have to be made again.");
    assert!(first_of(&fits, &[fixtures_lesson()]) >= SHOWN_FROM);
    let other = query("write the login page", "There should be a form with two fields and a button before the footer.");
    assert!(first_of(&other, &[fixtures_lesson()]) < SHOWN_FROM);
}

#[test]
fn the_number_of_other_memories_makes_no_difference_to_what_is_shown() {
    let fits = query("update the snapshot tests", "The schema has changed, so the snapshots have to be made again.");
    let mut memories = vec![fixtures_lesson()];
    memories
        .extend((0..150).map(|at| memory(&format!("note {at} about deployment"), "servers and regions", &["a/b.tf"])));
    assert!(first_of(&fits, &memories) >= SHOWN_FROM);
}

#[test]
fn a_file_that_the_brief_names_is_enough_unless_every_project_has_it() {
    let with_file = |path: &str| [memory("tokens expire early", "clock skew", &[path])];
    let brief = query("change the rate", "It is in src/limiter.rs, see README.md.");
    assert!(first_of(&brief, &with_file("crates/a/src/limiter.rs")) >= SHOWN_FROM);
    assert!(first_of(&brief, &with_file("README.md")) < SHOWN_FROM);
    assert!(first_of(&brief, &with_file("src/other.rs")) < SHOWN_FROM);
}

#[test]
fn what_has_nothing_of_the_brief_is_never_relevant() {
    assert_eq!(first_of(&query("abc", "def"), &[fixtures_lesson()]), 0.0);
    assert_eq!(first_of(&query("", ""), &[memory("", "", &[])]), 0.0);
}

proptest! {
    #[test]
    fn relevance_is_a_probability_and_grows_with_the_words_in_common(title in "[a-c]{2}( [a-c]{2}){0,5}", more in "[a-c]{2}") {
        let memories = [memory(&title, &title, &[])];
        let less = first_of(&query("unrelated", ""), &memories);
        let some = first_of(&query("unrelated", &more), &memories);
        let all = first_of(&query("unrelated", &format!("{more} {title}")), &memories);
        prop_assert!(0.0 <= less && less <= some && some <= all && all <= 1.0);
    }
}

#[test]
fn words_that_somebody_chose_are_enough_whatever_files_there_are() {
    let query = MemoryQuery::new(QueryTexts {
        description: "Change the functions of the harbour files",
        prompt: "Read every file first.",
        git_branch: None,
    });
    let texts = SearchedTexts {
        title: "The harbour files are generated",
        lesson: "The harbour files are generated: change harbour.tmpl and run just harbour, never the files.",
        ..SearchedTexts::default()
    };
    let without = SearchedMemory::of(&texts);
    let with = SearchedMemory::of(&SearchedTexts { read: &["/p/quay-01.rs"], ..texts });
    let judged = |memory: &SearchedMemory| {
        let relevance = Relevance::new(&query, [memory]);
        (relevance.of(memory), relevance.of_written(memory))
    };
    assert!(judged(&with).0 < judged(&without).0);
    assert!(judged(&with).1 >= judged(&without).0, "{:?} {:?}", judged(&with), judged(&without));
}
