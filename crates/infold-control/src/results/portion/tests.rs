//! Which part of a result each query asks for.

use super::*;

fn check(query: ReadQuery) -> String {
    match read(&query) {
        Ok(portion) => format!("{portion:?}"),
        Err(error) => error.message,
    }
}

fn lines(text: &str) -> String {
    check(ReadQuery { lines: Some(text.to_owned()), ..ReadQuery::default() })
}

#[test]
fn lines_are_a_range_or_one_or_all_that_follow() {
    assert_eq!(lines("10-20"), "Lines { first: 10, last: 20 }");
    assert_eq!(lines("10"), "Lines { first: 10, last: 10 }");
    assert_eq!(lines("10-"), "Lines { first: 10, last: 4294967295 }");
}

#[test]
fn lines_that_are_none_are_refused() {
    for wrong in ["", "-", "0-3", "5-4", "-3", "a-b", "1-2-3", "99999999999"] {
        assert!(lines(wrong).starts_with("lines must be lines counted from 1"), "{wrong}");
    }
}

#[test]
fn a_query_means_one_part_only() {
    let both = ReadQuery { lines: Some("1".to_owned()), pattern: Some("x".to_owned()), ..ReadQuery::default() };
    assert_eq!(check(both), "lines says with a pattern from which line to search, as in 10-");
    let from = ReadQuery { lines: Some("7-".to_owned()), pattern: Some("x".to_owned()), ..ReadQuery::default() };
    assert_eq!(check(from), r#"Matches { pattern: "x", context: 0, first: 7 }"#);
    let both = ReadQuery { offset: Some(1), pattern: Some("x".to_owned()), ..ReadQuery::default() };
    assert_eq!(check(both), "pattern cannot be combined with offset: leave offset out");
    let alone = ReadQuery { context: Some(1), ..ReadQuery::default() };
    assert_eq!(check(alone), "context goes with pattern: give a pattern, or leave it out");
    let matches = ReadQuery { pattern: Some("x".to_owned()), context: Some(2), ..ReadQuery::default() };
    assert_eq!(check(matches), r#"Matches { pattern: "x", context: 2, first: 1 }"#);
    assert_eq!(check(ReadQuery::default()), "Bytes { offset: 0 }");
}
