//! What keys mean in the input. Those of a shell's line, and the arrows that other programs have taught people.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorCommand {
    Submit,
    Insert(char),
    NewLine,
    Move(Motion),
    /// Erases everything between the cursor and where the motion leads.
    Erase(Motion, Erased),
    /// Puts back what was erased last.
    Yank,
    Undo,
    /// Moves between rows, and at the edge of the text through the history.
    Row(Direction),
}

/// A way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    /// To the blank before the word, whatever signs are in it.
    BlankLeft,
    LineStart,
    LineEnd,
    /// To the start of the line, or over the line end before it.
    LineStartOrOver,
    /// To the end of the line, or over the line end.
    LineEndOrOver,
    TextStart,
    TextEnd,
}

/// Whether what is erased can be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    Kept,
    Dropped,
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// What a key means; nothing if it is not a key of the input.
pub fn command(event: KeyEvent) -> Option<EditorCommand> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let is_held = |modifiers: KeyModifiers| event.modifiers.intersects(modifiers);
    let (control, alt) = (is_held(KeyModifiers::CONTROL), is_held(KeyModifiers::ALT));
    match (event.code, control, alt) {
        _ if is_held(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META) => None,
        (KeyCode::Enter, false, false) if !is_held(KeyModifiers::SHIFT) => Some(EditorCommand::Submit),
        (KeyCode::Enter, _, _) => Some(EditorCommand::NewLine),
        (KeyCode::Char(character), true, false) => with_control(character.to_ascii_lowercase()),
        (KeyCode::Char(character), false, true) => with_alt(character.to_ascii_lowercase()),
        // Some keyboards write letters with both.
        (KeyCode::Char(character), _, _) => Some(EditorCommand::Insert(character)),
        (code, false, false) => alone(code),
        (code, _, _) => by_word(code),
    }
}

fn alone(code: KeyCode) -> Option<EditorCommand> {
    Some(match code {
        KeyCode::Left => EditorCommand::Move(Motion::Left),
        KeyCode::Right => EditorCommand::Move(Motion::Right),
        KeyCode::Up => EditorCommand::Row(Direction::Up),
        KeyCode::Down => EditorCommand::Row(Direction::Down),
        KeyCode::Home => EditorCommand::Move(Motion::LineStart),
        KeyCode::End => EditorCommand::Move(Motion::LineEnd),
        KeyCode::Backspace => EditorCommand::Erase(Motion::Left, Erased::Dropped),
        KeyCode::Delete => EditorCommand::Erase(Motion::Right, Erased::Dropped),
        _ => return None,
    })
}

/// With Control or Alt, keys that move go by words or by the whole text.
fn by_word(code: KeyCode) -> Option<EditorCommand> {
    Some(match code {
        KeyCode::Left => EditorCommand::Move(Motion::WordLeft),
        KeyCode::Right => EditorCommand::Move(Motion::WordRight),
        KeyCode::Up | KeyCode::Home => EditorCommand::Move(Motion::TextStart),
        KeyCode::Down | KeyCode::End => EditorCommand::Move(Motion::TextEnd),
        KeyCode::Backspace => EditorCommand::Erase(Motion::WordLeft, Erased::Kept),
        KeyCode::Delete => EditorCommand::Erase(Motion::WordRight, Erased::Kept),
        _ => return None,
    })
}

fn with_control(character: char) -> Option<EditorCommand> {
    Some(match character {
        'a' => EditorCommand::Move(Motion::LineStart),
        'e' => EditorCommand::Move(Motion::LineEnd),
        'b' => EditorCommand::Move(Motion::Left),
        'f' => EditorCommand::Move(Motion::Right),
        'p' => EditorCommand::Row(Direction::Up),
        'n' => EditorCommand::Row(Direction::Down),
        'h' => EditorCommand::Erase(Motion::Left, Erased::Dropped),
        'd' => EditorCommand::Erase(Motion::Right, Erased::Dropped),
        'k' => EditorCommand::Erase(Motion::LineEndOrOver, Erased::Kept),
        'u' => EditorCommand::Erase(Motion::LineStartOrOver, Erased::Kept),
        'w' => EditorCommand::Erase(Motion::BlankLeft, Erased::Kept),
        'y' => EditorCommand::Yank,
        'j' => EditorCommand::NewLine,
        // Control and the underscore reach many terminals as Control and 7 or the slash.
        'z' | '_' | '7' | '/' => EditorCommand::Undo,
        _ => return None,
    })
}

fn with_alt(character: char) -> Option<EditorCommand> {
    Some(match character {
        'b' => EditorCommand::Move(Motion::WordLeft),
        'f' => EditorCommand::Move(Motion::WordRight),
        'd' => EditorCommand::Erase(Motion::WordRight, Erased::Kept),
        '<' => EditorCommand::Move(Motion::TextStart),
        '>' => EditorCommand::Move(Motion::TextEnd),
        _ => return None,
    })
}
