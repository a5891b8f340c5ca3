//! What is taken out of foreign texts, and what stays.

use proptest::prelude::*;

use super::*;

#[test]
fn escape_sequences_go_with_all_that_is_in_them() {
    let cases = [
        ("a\u{1b}[31;1mred\u{1b}[0mb", "aredb"),
        ("a\u{1b}]52;c;c2VjcmV0\u{7}b", "ab"),
        ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
        ("a\u{9b}2Jb\u{9d}0;title\u{9c}c", "abc"),
        ("a\u{1b}(Bb\u{1b}cd\u{1b}7e", "abde"),
        ("a\u{1b}Pq#0\u{1b}\\b", "ab"),
        ("ends in \u{1b}", "ends in "),
        ("ends in \u{1b}[3", "ends in "),
    ];
    for (text, expected) in cases {
        assert_eq!(strip_hostile(text), expected, "{text:?}");
    }
}

#[test]
fn a_sequence_without_an_end_hides_nothing() {
    assert_eq!(strip_hostile("a\u{1b}]0;all of this stays"), "a0;all of this stays");
}

#[test]
fn marks_that_reorder_or_hide_go_and_ordinary_text_stays() {
    assert_eq!(strip_hostile("a\u{202e}b\u{2066}c\u{61c}d\u{200f}e\u{e0041}f\u{0}g\r\n\th"), "abcdefg\n\th");
    assert_eq!(strip_hostile("漢字 é 👩\u{200d}💻 naïve"), "漢字 é 👩\u{200d}💻 naïve");
}

#[test]
fn many_sequences_without_an_end_take_no_square_of_time() {
    let text = "\u{1b}]x".repeat(500_000);
    assert_eq!(strip_hostile(&text).len(), 500_000);
}

proptest! {
    #[test]
    fn nothing_hostile_is_left_and_a_second_pass_finds_nothing(
        text in "[a-z\\[\\];0-9\u{1b}\u{9b}\u{9c}\u{7}\\\\\u{202e}\u{e0041}\n]{0,60}",
    ) {
        let once = strip_hostile(&text);
        let is_hostile = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}' || c == '\u{e0041}';
        prop_assert!(!once.chars().any(is_hostile));
        prop_assert_eq!(strip_hostile(&once), once.clone());
    }
}
