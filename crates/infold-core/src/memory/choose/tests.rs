//! Which sentences are chosen.

use proptest::prelude::*;

use super::*;

#[test]
fn sentences_that_say_why_are_chosen_and_stories_are_not() {
    let report = "Let me look at the code first and then decide.\n\
        ## Root cause\n\
        - **The session is lost** because `src/session.rs` caches the token before it is refreshed. Great!\n\
        ```\nerror: something that a tool printed, in src/lib.rs, because of this\n```\n\
        The weather was nice the whole time while I was working on this for you.";
    assert_eq!(
        choose(report, 600),
        "The session is lost because `src/session.rs` caches the token before it is refreshed. \
         The weather was nice the whole time while I was working on this for you."
    );
    assert_eq!(
        choose(report, 90),
        "The session is lost because `src/session.rs` caches the token before it is refreshed."
    );
}

#[test]
fn what_says_nothing_gives_nothing() {
    for report in ["", "Done.", "All tests pass and everything is fine now, thanks.", "```\nonly code\n```"] {
        assert_eq!(choose(report, 600), "", "{report}");
    }
}

#[test]
fn the_tables_are_in_order() {
    assert!(TELLING.is_sorted() && STORY.is_sorted());
}

proptest! {
    #[test]
    fn what_is_chosen_is_bounded_and_said_in_the_report(report in "\\PC{0,400}", chars_max in 0_usize..500) {
        let chosen = choose(&report, chars_max);
        prop_assert!(chosen.chars().count() <= chars_max);
        prop_assert!(chosen.chars().all(|c| c == ' ' || report.contains(c)));
    }
}
