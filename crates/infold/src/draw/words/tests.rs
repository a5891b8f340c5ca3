//! Numbers, times and texts as people read them.

use super::*;
use crate::draw::{Charset, Paint};

#[test]
fn numbers_have_commas() {
    assert_eq!([0, 999, 1_000, 18_500, 1_234_567].map(thousands), ["0", "999", "1,000", "18,500", "1,234,567"]);
}

#[test]
fn spans_have_their_two_largest_units() {
    let spans = [840, 5_000, 60_000, 125_000, 7_200_000, 7_260_000, 90_000_000];
    assert_eq!(spans.map(duration), ["840 ms", "5 s", "1 min", "2 min 5 s", "2 h", "2 h 1 min", "1 d 1 h"]);
}

#[test]
fn the_future_counts_as_now() {
    let now_ms = 400_000_000;
    let moments = [now_ms + 5_000, now_ms - 3_000, now_ms - 185_000, now_ms - 7_300_000, 0];
    assert_eq!(moments.map(|then_ms| ago(now_ms, then_ms)), ["just now", "3 s ago", "3 min ago", "2 h ago", "4 d ago"]);
}

#[test]
fn a_text_cannot_steer_the_terminal() {
    assert_eq!(one_line("a\u{1b}[31mred\n\tb \u{202e}c"), "a [31mred b c");
}

#[test]
fn texts_are_cut_by_columns_not_by_bytes() {
    let style = |charset| Style { paint: Paint::Plain, charset, width: 80 };
    assert_eq!(fitted("日本語のテキスト", 9, &style(Charset::Utf8)), "日本語の…");
    assert_eq!(fitted("abcdefgh", 6, &style(Charset::Ascii)), "abc...");
    assert_eq!(fitted("abc", 3, &style(Charset::Utf8)), "abc");
}

#[test]
fn large_numbers_are_short_and_money_has_as_many_places_as_it_needs() {
    let shorts = [0, 999, 1_000, 18_540, 99_949, 99_950, 999_499, 999_500, 1_240_000].map(short);
    assert_eq!(shorts, ["0", "999", "1.0k", "18.5k", "99.9k", "100k", "999k", "1.00M", "1.24M"]);
    let sums = [0, 1, 49, 50, 31_250, 999_999, 4_120_000, 1_234_560_000].map(money);
    assert_eq!(sums, ["$0", "<$0.0001", "<$0.0001", "$0.0001", "$0.0312", "$1.0000", "$4.12", "$1234.56"]);
}

#[test]
fn a_text_is_wrapped_between_words() {
    assert_eq!(wrapped("the cache has lapsed", 9), ["the cache", "has", "lapsed"]);
    assert_eq!(wrapped("abcdefghijkl m", 5), ["abcde", "m"]);
    assert!(wrapped(" ", 5).is_empty());
}

#[test]
fn parts_of_a_sentence_are_packed_into_lines() {
    let parts = ["one part", "two", "a part that is longer than a line"].map(str::to_owned);
    assert_eq!(packed(&parts, " · ", 60), ["one part · two · a part that is longer than a line"]);
    assert_eq!(packed(&parts, " · ", 14), ["one part · two", "a part that is", "longer than a", "line"]);
}
