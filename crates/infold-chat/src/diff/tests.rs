//! Two texts in, lines out.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::{DiffLayout, ShownDiff, diff};
use crate::tones::{Palette, Tone};

fn layout(width: usize, lines_max: usize) -> DiffLayout {
    DiffLayout { width, palette: Palette::coloured(), context_lines: 1, lines_max }
}

fn plain(shown: &ShownDiff) -> String {
    shown.lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn shown(before: &str, after: &str, width: usize, lines_max: usize) -> String {
    let shown = diff(before, after, &layout(width, lines_max));
    format!("{}\n+{} -{}", plain(&shown), shown.added, shown.removed)
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn changes_are_shown_with_their_lines_around() {
    let before = numbered(12);
    let after = before.replace("line 3\n", "line three\nmore\n").replace("line 11\n", "");
    assert_snapshot!(shown(&before, &after, 40, 100), @"
     2   line 2
     3 - line 3
     3 + line three
     4 + more
     5   line 4
     ⋮
    11   line 10
    11 - line 11
    12   line 12
    +2 -2
    ");
}

#[test]
fn texts_that_are_the_same_have_no_lines() {
    assert_eq!(diff("a\n", "a\n", &layout(40, 100)), ShownDiff { lines: Vec::new(), added: 0, removed: 0 });
}

#[test]
fn a_new_text_is_all_added() {
    assert_snapshot!(shown("", "a\n\tb\n", 40, 100), @"
    1 + a
    2 +     b
    +2 -0
    ");
}

#[test]
fn long_lines_are_wrapped_under_their_text_and_cut_if_they_do_not_end() {
    assert_snapshot!(shown("", "abcdefghijklmnop\n漢字漢字漢字\n", 10, 100), @"
    1 + abcdef
        ghijkl
        mnop
    2 + 漢字漢
        字漢字
    +2 -0
    ");
    let rows = diff("", &"x".repeat(10_000), &layout(10, 100)).lines.len();
    assert!(rows < 20, "{rows}");
}

#[test]
fn what_is_too_much_is_counted() {
    assert_snapshot!(shown("", &numbered(315), 40, 4), @"
      1 + line 1
      2 + line 2
      3 + line 3
    … 312 more lines
    +315 -0
    ");
    assert_snapshot!(shown("", &numbered(4), 40, 4), @"
    1 + line 1
    2 + line 2
    3 + line 3
    4 + line 4
    +4 -0
    ");
    assert_snapshot!(shown("", &numbered(5), 40, 1), @"
    … 5 more lines
    +5 -0
    ");
}

#[test]
fn changes_of_line_ends_can_be_seen() {
    assert_snapshot!(shown("a\r\nb\nc", "a\nb\nc\n", 40, 100), @r#"
    1 - a␍
    1 + a
    2   b
    3 - c
        \ no line end
    3 + c
    +2 -2
    "#);
}

#[test]
fn nothing_steers_the_terminal() {
    assert_snapshot!(shown("", "\u{1b}[2Ja\u{202e}b\u{7}\n", 40, 100), @"
    1 + ␛[2Jab
    +1 -0
    ");
}

#[test]
fn tones_say_what_the_signs_say() {
    let palette = Palette::coloured();
    let shown = diff("a\n", "b\n", &layout(40, 100));
    let last = |line: usize| shown.lines[line].spans.last().unwrap().style;
    assert_eq!((last(0), last(1)), (palette.style(Tone::Removed), palette.style(Tone::Added)));
}

proptest! {
    #[test]
    fn no_line_is_too_wide_and_there_are_no_more_than_asked_for(
        before in "([a-c漢\t\u{1b}]{0,9}\n){0,12}",
        after in "([a-c漢\t\u{1b}]{0,9}\r?\n){0,12}[a-c]{0,3}",
        width in 1_usize..20,
        lines_max in 1_usize..12,
    ) {
        let shown = diff(&before, &after, &layout(width, lines_max));
        prop_assert!(shown.lines.len() <= lines_max);
        for line in &shown.lines {
            prop_assert!(line.width() <= width, "{line:?}");
            prop_assert!(!line.to_string().contains(char::is_control));
        }
    }
}
