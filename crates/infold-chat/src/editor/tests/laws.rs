//! Whatever keys come, the view keeps to its size, shows the cursor, and everything can be undone.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use super::super::{Editor, History};
use super::editor;
use crate::tones::Palette;

#[derive(Debug, Clone)]
enum EditorAct {
    Key(KeyEvent),
    Paste(String),
    View(usize, usize),
}

fn any_act() -> impl Strategy<Value = EditorAct> {
    let code = prop_oneof![
        6 => proptest::char::any().prop_map(KeyCode::Char),
        6 => proptest::sample::select("ab \u{301}漢👩\u{200d}🏽-".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        4 => proptest::sample::select("abefpnhdkuwyjz_".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        6 => proptest::sample::select(vec![
            KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End,
            KeyCode::Backspace, KeyCode::Delete, KeyCode::Enter,
        ]),
    ];
    let modifiers = proptest::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    prop_oneof![
        20 => (code, modifiers).prop_map(|(code, modifiers)| EditorAct::Key(KeyEvent::new(code, modifiers))),
        1 => prop_oneof!["\\PC{0,30}", "(x\n){21,25}", "[ab漢 \n\t]{0,40}"].prop_map(EditorAct::Paste),
        4 => (1_usize..30, 1_usize..6).prop_map(|(width, height_max)| EditorAct::View(width, height_max)),
    ]
}

proptest! {
    #[test]
    fn the_view_keeps_to_its_size_and_shows_the_cursor(acts in proptest::collection::vec(any_act(), 0..60)) {
        let mut editor = Editor::new(Palette::plain(), History::new(vec!["old".to_owned(), "older\ntext".to_owned()]));
        for act in acts {
            match act {
                EditorAct::Key(event) => { editor.key(event); }
                EditorAct::Paste(text) => editor.paste(&text),
                EditorAct::View(width, height_max) => {
                    let view = editor.view(width, height_max);
                    prop_assert!((1..=height_max).contains(&view.lines.len()));
                    prop_assert!(view.lines.iter().all(|line| line.width() <= width), "{view:?}");
                    prop_assert!(usize::from(view.cursor.0) < width && usize::from(view.cursor.1) < view.lines.len());
                }
            }
            let text = editor.buffer.text();
            prop_assert!(text.is_char_boundary(editor.buffer.cursor()));
            let marks = text.chars().filter(|c| super::super::pastes::is_mark(*c));
            prop_assert!(marks.into_iter().all(|mark| editor.pastes.label(mark).is_some()));
        }
    }

    #[test]
    fn everything_can_be_undone(acts in proptest::collection::vec(any_act(), 0..40)) {
        let mut editor = editor();
        for act in acts {
            match act {
                EditorAct::Key(event) => { editor.key(event); }
                EditorAct::Paste(text) => editor.paste(&text),
                EditorAct::View(..) => {}
            }
        }
        while editor.buffer.undo() {}
        prop_assert_eq!(editor.text(), "");
    }
}
