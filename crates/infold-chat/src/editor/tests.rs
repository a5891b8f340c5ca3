//! Keys in, text and cursor out.

mod laws;
mod views;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Editor, EditorOutcome, History};
use crate::tones::Palette;

fn editor() -> Editor {
    Editor::new(Palette::plain(), History::default())
}

fn with_history(entries: &[&str]) -> Editor {
    let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
    Editor::new(Palette::plain(), History::new(entries))
}

/// A key by its name: `a`, `C-a` with Control, `A-b` with Alt, `S-Enter` with Shift.
fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("C", name)) => (KeyModifiers::CONTROL, name),
        Some(("A", name)) => (KeyModifiers::ALT, name),
        Some(("S", name)) => (KeyModifiers::SHIFT, name),
        Some(_) | None => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        "Tab" => KeyCode::Tab,
        "Esc" => KeyCode::Esc,
        _ => KeyCode::Char(name.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

fn press(editor: &mut Editor, keys: &str) -> EditorOutcome {
    keys.split(' ').map(|name| editor.key(key(name))).last().unwrap()
}

fn type_in(editor: &mut Editor, text: &str) {
    for character in text.chars() {
        let name = if character == '\n' { KeyCode::Enter } else { KeyCode::Char(character) };
        let modifiers = if character == '\n' { KeyModifiers::ALT } else { KeyModifiers::NONE };
        assert_eq!(editor.key(KeyEvent::new(name, modifiers)), EditorOutcome::Changed);
    }
}

/// The text with a bar for the cursor; pastes as they are shown.
fn state(editor: &Editor) -> String {
    let (head, rest) = editor.buffer.text().split_at(editor.buffer.cursor());
    let shown = |text: &str| -> String {
        text.chars().map(|c| editor.pastes.label(c).map_or_else(|| c.to_string(), str::to_owned)).collect()
    };
    format!("{}|{}", shown(head), shown(rest))
}

/// What keys make of a text that was typed.
fn after(text: &str, keys: &str) -> String {
    let mut editor = editor();
    type_in(&mut editor, text);
    press(&mut editor, keys);
    state(&editor)
}

#[test]
fn the_cursor_moves_by_what_people_see_as_a_character() {
    assert_eq!(after("ae\u{301}👩\u{200d}👧", "Left"), "ae\u{301}|👩\u{200d}👧");
    assert_eq!(after("ae\u{301}👩\u{200d}👧", "Left Left"), "a|e\u{301}👩\u{200d}👧");
    assert_eq!(after("ae\u{301}", "Backspace"), "a|");
    assert_eq!(after("漢字", "C-a Delete"), "|字");
    assert_eq!(after("ab", "C-b C-f C-f"), "ab|");
    assert_eq!(after("ab", "C-h"), "a|");
    assert_eq!(after("ab", "Home C-d"), "|b");
}

#[test]
fn words_lines_and_the_text_can_be_crossed_at_once() {
    assert_eq!(after("one two-three", "A-b"), "one two-|three");
    assert_eq!(after("one two-three", "C-Left A-Left"), "one |two-three");
    assert_eq!(after("one two", "C-a A-f"), "one| two");
    assert_eq!(after("one two", "C-a C-Right A-Right"), "one two|");
    assert_eq!(after("one\ntwo\nthree", "Up C-a"), "one\n|two\nthree");
    assert_eq!(after("one\ntwo\nthree", "Up Home End"), "one\ntwo|\nthree");
    assert_eq!(after("one\ntwo", "C-Home"), "|one\ntwo");
    assert_eq!(after("one\ntwo", "A-< A->"), "one\ntwo|");
    assert_eq!(after("one\ntwo", "A-Up"), "|one\ntwo");
}

#[test]
fn words_and_lines_are_erased_and_put_back() {
    assert_eq!(after("one two-three", "C-w"), "one |");
    assert_eq!(after("one two-three", "A-Backspace"), "one two-|");
    assert_eq!(after("one two", "C-a A-d"), "| two");
    assert_eq!(after("one two", "C-a A-f C-k"), "one|");
    assert_eq!(after("one\ntwo", "Up End C-k"), "one|two");
    assert_eq!(after("one two", "C-u"), "|");
    assert_eq!(after("one\ntwo", "C-u C-u"), "one|");
    assert_eq!(after("one two", "C-w C-y C-y"), "one twotwo|");
    assert_eq!(after("one two", "C-u C-y"), "one two|");
}

#[test]
fn a_new_line_is_made_with_a_modifier_and_enter_alone_sends() {
    assert_eq!(after("a", "A-Enter b"), "a\nb|");
    assert_eq!(after("a", "S-Enter b"), "a\nb|");
    assert_eq!(after("a", "C-j b"), "a\nb|");
    let mut editor = editor();
    type_in(&mut editor, "hello");
    assert_eq!(press(&mut editor, "Enter"), EditorOutcome::Submit);
    assert_eq!(editor.take(), "hello");
    assert!(editor.is_empty());
    assert_eq!(editor.history().entries(), ["hello"]);
}

#[test]
fn keys_of_others_are_ignored() {
    let mut editor = editor();
    for name in ["Tab", "Esc", "C-c", "C-l", "C-d", "Backspace", "Up", "Down", "C-y", "C-z", "A-q"] {
        assert_eq!(press(&mut editor, name), EditorOutcome::Ignored, "{name}");
    }
    let released = KeyEvent { kind: crossterm::event::KeyEventKind::Release, ..key("a") };
    assert_eq!(editor.key(released), EditorOutcome::Ignored);
    assert!(editor.is_empty());
}

#[test]
fn changes_are_undone_by_words() {
    assert_eq!(after("one two", "C-z"), "one |");
    assert_eq!(after("one two", "C-z C-_"), "|");
    assert_eq!(after("one two", "C-w C-7"), "one two|");
    assert_eq!(after("one two", "C-a C-k C-z"), "|one two");
}

#[test]
fn the_history_is_reached_from_the_first_row_and_the_draft_comes_back() {
    let mut editor = with_history(&["first", "second\nline"]);
    type_in(&mut editor, "draft");
    press(&mut editor, "Left Up");
    assert_eq!(state(&editor), "second\nline|");
    press(&mut editor, "Up Up");
    assert_eq!(state(&editor), "first|");
    assert_eq!(press(&mut editor, "Up"), EditorOutcome::Changed);
    assert_eq!(state(&editor), "|first");
    assert_eq!(press(&mut editor, "Up"), EditorOutcome::Ignored);
    press(&mut editor, "Down Down");
    assert_eq!(state(&editor), "draft|");
    assert_eq!(press(&mut editor, "Down"), EditorOutcome::Ignored);
}

#[test]
fn a_draft_with_a_paste_comes_back_whole() {
    let mut editor = with_history(&["first"]);
    editor.paste(&"x\n".repeat(30));
    press(&mut editor, "C-p C-n");
    assert_eq!(state(&editor), "[paste 1: 30 lines]|");
    assert_eq!(editor.text(), "x\n".repeat(30));
}

#[test]
fn the_history_has_no_blank_texts_and_no_repetitions() {
    let mut editor = with_history(&["a", "a", " ", "b"]);
    for text in ["b", " ", "c"] {
        editor.set_text(text);
        editor.take();
    }
    assert_eq!(editor.history().entries(), ["a", "b", "c"]);
}

#[test]
fn a_long_text_of_the_history_is_shown_as_a_paste() {
    let long = "line\n".repeat(100);
    let mut editor = with_history(&[&long]);
    press(&mut editor, "Up");
    assert_eq!(state(&editor), "[paste 1: 100 lines]|");
    assert_eq!(editor.text(), long);
}

#[test]
fn a_long_paste_is_one_word_that_expands_to_the_whole_text() {
    let mut editor = editor();
    type_in(&mut editor, "see ");
    let long: String = (0..10_000).map(|number| format!("line {number}\r\n")).collect();
    editor.paste(&long);
    type_in(&mut editor, " and ");
    editor.paste(&"y".repeat(2_001));
    assert_eq!(state(&editor), "see [paste 1: 10,000 lines] and [paste 2: 2,001 characters]|");
    assert!(editor.text() == format!("see {} and {}", long.replace('\r', ""), "y".repeat(2_001)));
    press(&mut editor, "Backspace");
    assert_eq!(state(&editor), "see [paste 1: 10,000 lines] and |");
    press(&mut editor, "C-w C-w");
    assert_eq!(state(&editor), "see |");
    press(&mut editor, "C-y");
    assert!(editor.text() == format!("see {} ", long.replace('\r', "")));
}

#[test]
fn a_paste_that_was_erased_can_be_put_into_the_next_text() {
    let mut editor = editor();
    let long = "z\n".repeat(50);
    editor.paste(&long);
    press(&mut editor, "C-u");
    editor.clear();
    press(&mut editor, "C-y");
    assert_eq!(state(&editor), "[paste 1: 50 lines]|");
    assert_eq!(editor.text(), long);
}

#[test]
fn a_short_paste_is_text_without_anything_that_steers() {
    let mut editor = editor();
    editor.paste("a\rb\r\nc\u{1b}[31m\u{100000}\u{202e}");
    assert_eq!(state(&editor), "a\nb\nc␛[31m|");
    assert_eq!(press(&mut editor, "\u{100000}"), EditorOutcome::Ignored);
}

#[test]
fn the_word_before_the_cursor_can_be_completed() {
    let mut editor = editor();
    type_in(&mut editor, "/comp");
    assert_eq!(editor.word_before_cursor(), "/comp");
    assert_eq!(editor.before_word(), "");
    editor.replace_word("/compact ");
    assert_eq!(state(&editor), "/compact |");
    assert_eq!(editor.word_before_cursor(), "");
    type_in(&mut editor, "@src/ma now");
    press(&mut editor, "Left Left Left Left");
    assert_eq!(editor.word_before_cursor(), "@src/ma");
    assert!(!editor.before_word().is_empty());
    editor.replace_word("@src/main.rs");
    assert_eq!(state(&editor), "/compact @src/main.rs| now");
}

#[test]
fn what_is_attached_is_one_word_that_a_key_erases_and_undo_brings_back() {
    let mut editor = editor();
    type_in(&mut editor, "see @a.png now");
    let at = editor.short_text().find('@').unwrap();
    editor.replace_by_attached(at..at + 6, "[image 1: a.png]");
    assert_eq!(editor.text(), "see [image 1: a.png] now");
    type_in(&mut editor, "!");
    assert_eq!(editor.text(), "see [image 1: a.png] now!", "the cursor is where it was");
    press(&mut editor, "C-a C-f C-f C-f C-f Delete");
    assert_eq!(editor.text(), "see  now!");
    press(&mut editor, "C-z");
    assert_eq!(editor.text(), "see [image 1: a.png] now!");
    editor.attach("[image 2: b.png]");
    assert_eq!(editor.text(), "see [image 2: b.png][image 1: a.png] now!");
}
