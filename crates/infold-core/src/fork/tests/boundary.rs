//! The first stage: where a fork starts.

use super::*;

/// What is left, and where the cut was.
fn check(items: Vec<Item>) -> String {
    let sliced = slice_from_compaction_boundary(group_messages(items));
    format!("{:?}\n{}", sliced.slice_index, format_messages_as_context(&sliced.messages))
}

#[test]
fn without_a_compaction_everything_stays() {
    insta::assert_snapshot!(check(vec![user(0, "hello"), assistant(1, "hi")]), @"
    None
    [User]
    hello

    [Assistant]
    hi
    ");
}

#[test]
fn a_fork_starts_at_the_latest_summary() {
    let items = vec![
        user(0, "long ago"),
        compaction(1, Some("first summary")),
        user(2, "in between"),
        compaction(3, Some("second summary")),
        user(4, "now"),
    ];
    insta::assert_snapshot!(check(items), @"
    Some(3)
    [Summary of the conversation before]
    second summary

    [User]
    now
    ");
}

#[test]
fn a_compaction_that_cannot_be_read_is_no_boundary() {
    let items = vec![
        user(0, "long ago"),
        compaction(1, Some("readable")),
        user(2, "in between"),
        compaction(3, None),
        user(4, "later"),
        compaction(5, Some("  \n")),
        user(6, "now"),
    ];
    insta::assert_snapshot!(check(items), @"
    Some(1)
    [Summary of the conversation before]
    readable

    [User]
    in between

    [User]
    later

    [User]
    now
    ");
}

#[test]
fn of_what_the_client_repeats_beside_its_summary_the_persons_words_stay() {
    let kept = vec![user(0, "long ago"), assistant(0, "yes")];
    let summary = item(1, Kind::Compaction { summary: Some("readable".to_owned()), kept });
    insta::assert_snapshot!(check(vec![user(0, "long ago"), summary, user(2, "now")]), @"
    Some(1)
    [Summary of the conversation before]
    readable

    [User]
    long ago

    [User]
    now
    ");
}

#[test]
fn a_summary_is_cut_out_of_the_message_that_it_came_in() {
    let items = vec![user(0, "before"), compaction(0, Some("readable")), user(0, "after")];
    insta::assert_snapshot!(check(items), @"
    Some(1)
    [Summary of the conversation before]
    readable

    [User]
    after
    ");
}
