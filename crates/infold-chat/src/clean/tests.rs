//! What a model can put into its words, and what is left of it.

use proptest::prelude::*;

use super::{visible, visible_in_line};

#[test]
fn commands_to_the_terminal_become_visible() {
    assert_eq!(visible("\u{1b}[31mred\u{7}\u{1b}]0;title\u{7}"), "␛[31mred␛]0;title");
    assert_eq!(visible("one\rtwo\u{8}\u{0}\u{7f}\u{9b}2J"), "onetwo␛2J");
}

#[test]
fn marks_for_direction_and_hidden_tags_are_left_out() {
    assert_eq!(visible("a\u{202e}b\u{2066}c\u{200f}d\u{e0041}e\u{feff}f\u{200b}g"), "abcdefg");
}

#[test]
fn text_of_all_scripts_stays() {
    for text in ["naïve 漢字 ไทย हिन्दी", "👩\u{200d}👧 e\u{301} ❤\u{fe0f}", "line\n\tnext"]
    {
        assert_eq!(visible(text), text);
    }
}

#[test]
fn on_one_line_there_are_no_line_ends() {
    assert_eq!(visible_in_line("a\n\tb\r\n"), "a  b ");
}

proptest! {
    #[test]
    fn a_text_may_be_cut_anywhere(text in "\\PC{0,9}[\u{0}-\u{9f}\u{2020}-\u{2070}]{0,9}\\PC{0,9}", at in 0_usize..40) {
        let at = text.char_indices().map(|(at, _)| at).nth(at).unwrap_or(text.len());
        let (head, rest) = text.split_at(at);
        prop_assert_eq!(visible(&text), format!("{}{}", visible(head), visible(rest)));
        prop_assert!(!visible(&text).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
