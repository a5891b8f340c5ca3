//! Lines keep to their width, and words stay whole where they can.

use proptest::prelude::*;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use unicode_segmentation::UnicodeSegmentation;

use super::{Breaks, Indent, columns, fitted, wrapped};

fn plain(lines: &[Line]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

fn words(text: &str, width: usize) -> Vec<String> {
    plain(&wrapped(&[Span::raw(text)], width, &Indent::none(), Breaks::BetweenWords))
}

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(words("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(words("the quick  brown", 9), ["the quick", "brown"]);
    assert_eq!(words("", 9), [""]);
}

#[test]
fn a_word_that_is_longer_than_a_line_is_cut() {
    assert_eq!(words("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
}

#[test]
fn wide_characters_are_broken_between_and_never_through() {
    assert_eq!(words("漢字漢字漢", 5), ["漢字", "漢字", "漢"]);
    assert_eq!(words("ab漢字", 3), ["ab", "漢", "字"]);
    assert_eq!(words("漢", 1), ["\u{fffd}"]);
}

#[test]
fn a_character_of_several_parts_stays_in_one_piece() {
    assert_eq!(words("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
    assert_eq!(words("👩\u{200d}👧👩\u{200d}👧", 3), ["👩\u{200d}👧", "👩\u{200d}👧"]);
}

#[test]
fn lines_after_the_first_hang_under_its_words() {
    let indent = Indent::hanging(Span::raw("- "));
    let lines = wrapped(&[Span::raw("one two three")], 9, &indent, Breaks::BetweenWords);
    assert_eq!(plain(&lines), ["- one two", "  three"]);
}

#[test]
fn code_keeps_every_blank() {
    let lines = wrapped(&[Span::raw("    if  x")], 4, &Indent::none(), Breaks::Anywhere);
    assert_eq!(plain(&lines), ["    ", "if  ", "x"]);
}

#[test]
fn blanks_in_front_of_the_first_word_stay() {
    assert_eq!(words("  abcdef", 6), ["  abcd", "ef"]);
}

#[test]
fn tones_go_on_over_a_break() {
    let red = Style::new().fg(Color::Red);
    let spans = [Span::raw("one "), Span::styled("two three", red)];
    let lines = wrapped(&spans, 7, &Indent::none(), Breaks::BetweenWords);
    assert_eq!(lines[0].spans, [Span::raw("one "), Span::styled("two", red)]);
    assert_eq!(lines[1].spans, [Span::styled("three", red)]);
}

#[test]
fn a_line_that_does_not_fit_ends_in_dots() {
    assert_eq!(fitted(&[Span::raw("abcdef")], 6).to_string(), "abcdef");
    assert_eq!(fitted(&[Span::raw("abcdef")], 5).to_string(), "abcd…");
    assert_eq!(fitted(&[Span::raw("漢字漢")], 4).to_string(), "漢…");
    assert_eq!(fitted(&[Span::raw("abc")], 0).to_string(), "");
}

fn any_spans() -> impl Strategy<Value = Vec<Span<'static>>> {
    let text = prop_oneof!["[a-z ]{0,12}", "\\PC{0,6}", "[漢字👩‍e\u{301}\u{fe0f} ]{0,8}"];
    let span = (text, any::<bool>()).prop_map(|(text, is_red)| {
        let style = if is_red { Style::new().fg(Color::Red) } else { Style::new() };
        Span::styled(crate::clean::visible_in_line(&text).into_owned(), style)
    });
    proptest::collection::vec(span, 0..6)
}

proptest! {
    #[test]
    fn no_line_is_wider_than_its_width(spans in any_spans(), width in 1_usize..20) {
        let indent = Indent::hanging(Span::raw("10. "));
        for breaks in [Breaks::BetweenWords, Breaks::Anywhere] {
            for line in wrapped(&spans, width, &indent, breaks) {
                prop_assert!(line.width() <= width, "{line:?}");
                prop_assert!(columns(&line.to_string()) <= width, "{line:?}");
            }
        }
        prop_assert!(fitted(&spans, width).width() <= width);
    }

    #[test]
    fn nothing_but_blanks_is_lost(spans in any_spans(), width in 2_usize..20) {
        let whole: String = spans.iter().map(|span| &*span.content).collect();
        let whole: String = whole.graphemes(true).filter(|text| columns(text) > 0).collect();
        // What is wider than a whole line is replaced.
        prop_assume!(whole.graphemes(true).all(|text| columns(text) <= width));
        let code: String = plain(&wrapped(&spans, width, &Indent::none(), Breaks::Anywhere)).concat();
        prop_assert_eq!(&code, &whole);
        let words: String = plain(&wrapped(&spans, width, &Indent::none(), Breaks::BetweenWords)).concat();
        prop_assert_eq!(words.replace(' ', ""), whole.replace(' ', ""));
    }
}
