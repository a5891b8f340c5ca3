//! What is shown of the input, and where its cursor is.

use super::super::{Editor, EditorView};
use super::{editor, press, type_in};

/// The rows of a view with a bar for the cursor.
fn shown(editor: &mut Editor, width: usize, height_max: usize) -> Vec<String> {
    let EditorView { lines, cursor: (column, row) } = editor.view(width, height_max);
    let mut rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let row = &mut rows[usize::from(row)];
    let mut columns = 0;
    let at = row.char_indices().find(|(_, c)| {
        columns += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
        columns > usize::from(column)
    });
    let at = at.map_or(row.len(), |(at, _)| at);
    row.insert(at, '|');
    rows
}

fn shown_text(text: &str, width: usize, height_max: usize) -> Vec<String> {
    let mut editor = editor();
    type_in(&mut editor, text);
    shown(&mut editor, width, height_max)
}

#[test]
fn lines_are_wrapped_between_words() {
    assert_eq!(shown_text("the quick brown fox", 11, 9), ["the quick ", "brown fox|"]);
    assert_eq!(shown_text("one\ntwo", 11, 9), ["one", "two|"]);
    assert_eq!(shown_text("", 11, 9), ["|"]);
    assert_eq!(shown_text("a\n", 11, 9), ["a", "|"]);
}

#[test]
fn a_word_that_is_longer_than_a_row_is_cut() {
    assert_eq!(shown_text("abcdefghij", 5, 9), ["abcd", "efgh", "ij|"]);
    assert_eq!(shown_text("漢字漢字", 6, 9), ["漢字", "漢字|"]);
}

#[test]
fn the_cursor_behind_a_full_row_is_still_on_the_screen() {
    let mut editor = editor();
    type_in(&mut editor, "abcd");
    let view = editor.view(5, 3);
    assert_eq!((view.lines.len(), view.cursor), (1, (4, 0)));
    type_in(&mut editor, " ");
    assert_eq!(editor.view(5, 3).cursor, (4, 0));
    type_in(&mut editor, "e");
    assert_eq!(editor.view(5, 3).cursor, (1, 1));
}

#[test]
fn a_long_text_is_scrolled_so_that_the_cursor_is_seen() {
    let mut editor = editor();
    type_in(&mut editor, "1\n2\n3\n4\n5");
    assert_eq!(shown(&mut editor, 9, 3), ["3", "4", "5|"]);
    press(&mut editor, "Up Up");
    assert_eq!(shown(&mut editor, 9, 3), ["3|", "4", "5"]);
    press(&mut editor, "Up");
    assert_eq!(shown(&mut editor, 9, 3), ["2|", "3", "4"]);
    press(&mut editor, "C-End");
    assert_eq!(shown(&mut editor, 9, 3), ["3", "4", "5|"]);
    assert_eq!(shown(&mut editor, 9, 9), ["1", "2", "3", "4", "5|"]);
}

#[test]
fn moves_up_and_down_go_by_rows_and_keep_their_column() {
    let mut editor = editor();
    type_in(&mut editor, "abcd efgh\nx\nabcdef");
    editor.view(6, 9);
    assert_eq!(shown(&mut editor, 6, 9), ["abcd ", "efgh", "x", "abcde", "f|"]);
    press(&mut editor, "Up End Left Left");
    assert_eq!(shown(&mut editor, 6, 9), ["abcd ", "efgh", "x", "abcd|e", "f"]);
    press(&mut editor, "Up");
    assert_eq!(shown(&mut editor, 6, 9), ["abcd ", "efgh", "x|", "abcde", "f"]);
    press(&mut editor, "Up");
    assert_eq!(shown(&mut editor, 6, 9), ["abcd ", "efgh|", "x", "abcde", "f"]);
    press(&mut editor, "Up");
    assert_eq!(shown(&mut editor, 6, 9), ["abcd| ", "efgh", "x", "abcde", "f"]);
}

#[test]
fn a_paste_and_a_tab_are_shown_in_their_width() {
    let mut editor = editor();
    editor.paste(&"x\n".repeat(21));
    editor.paste("\ty");
    assert_eq!(shown(&mut editor, 40, 3), ["[paste 1: 21 lines]    y|"]);
    assert_eq!(editor.view(9, 3).lines[0].to_string(), "[paste 1:");
}
