//! Which words of a brief are looked up and searched.

use proptest::prelude::*;

use super::*;

fn query(description: &str, prompt: &str, git_branch: Option<&str>) -> MemoryQuery {
    MemoryQuery::new(QueryTexts { description, prompt, git_branch })
}

fn looked_up(query: &MemoryQuery) -> String {
    query.looked_up().collect::<Vec<_>>().join(" ")
}

fn frequencies(memories: u64, with_word: &[(&str, u64)]) -> WordFrequencies {
    let with_word = with_word.iter().map(|(stem, having)| ((*stem).to_owned(), *having)).collect();
    WordFrequencies { memories, with_word }
}

#[test]
fn words_come_in_the_order_of_what_they_say() {
    let query = query(
        "fix the login",
        "The tests fail again. Look at src/session.rs and run the tests.",
        Some("feat/token-refresh"),
    );
    assert_eq!(looked_up(&query), "feat token refresh fix login src session rs test fail again look run");
    assert_eq!(query.files.iter().collect::<Vec<_>>(), ["session.rs"]);
}

#[test]
fn the_branch_on_which_everything_ends_up_says_nothing() {
    for trunk in TRUNKS {
        let query = query("fix", "", Some(trunk));
        assert_eq!((looked_up(&query).as_str(), query.git_branch), ("fix", None));
    }
    assert!(TRUNKS.is_sorted());
}

#[test]
fn of_many_words_those_of_names_and_those_said_again_are_looked_up() {
    let mut prompt: String = (0..LOOKED_UP_MAX).map(|at| format!("word{} ", letters(at))).collect();
    prompt.push_str("parse_header twice twice");
    let query = query("", &prompt, None);
    let looked_up: Vec<&str> = query.looked_up().collect();
    assert_eq!(looked_up.len(), LOOKED_UP_MAX);
    assert_eq!(looked_up[..3], ["pars", "header", "twice"]);
}

/// A number in letters, which no word is split at.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(b'b' + 2 * (digit - b'0'))).collect()
}

#[test]
fn candidates_are_searched_by_the_rarest_words_that_any_memory_has() {
    let many: String = (0..60).map(|at| format!("word{} ", letters(at))).collect();
    let query = query("unheard common rare", &many, None);
    let mut with_word: Vec<(String, u64)> = query.looked_up().map(|stem| (stem.to_owned(), 50)).collect();
    with_word[0].1 = 0;
    with_word[1].1 = 90;
    with_word[2].1 = 1;
    let known = WordFrequencies { memories: 100, with_word: with_word.into_iter().collect() };
    let searched = query.searched(&known);
    assert_eq!((searched.len(), searched[0]), (SEARCHED_MAX, "rare"));
    assert!(!searched.contains(&"unheard") && !searched.contains(&"common"));
}

#[test]
fn a_rarer_word_is_worth_more_and_every_word_something() {
    let known = frequencies(10, &[("rare", 1), ("common", 10)]);
    assert!(known.rarity("rare") > known.rarity("common") && known.rarity("common") > 0.0);
    assert!(frequencies(0, &[("odd", 3)]).rarity("odd") > 0.0, "a store that counts wrongly does no harm");
}

proptest! {
    #[test]
    fn any_text_makes_a_bounded_query(description in "\\PC{0,200}", prompt in "\\PC{0,2000}", branch in "\\PC{0,40}") {
        let query = query(&description, &prompt, Some(&branch));
        let looked_up: Vec<&str> = query.looked_up().collect();
        prop_assert!(looked_up.len() <= LOOKED_UP_MAX && query.files.len() <= FILES_MAX);
        let distinct: BTreeSet<&&str> = looked_up.iter().collect();
        prop_assert_eq!(distinct.len(), looked_up.len());
        let all: HashMap<String, u64> = looked_up.iter().map(|stem| ((*stem).to_owned(), 1)).collect();
        let known = WordFrequencies { memories: 1, with_word: all };
        prop_assert!(query.searched(&known).len() <= SEARCHED_MAX);
    }
}
