//! What keys mean in the input. Those of a shell's line, and the arrows that other programs have taught people.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
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
pub fn command(event: KeyEvent) -> Option<Command> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let is_held = |modifiers: KeyModifiers| event.modifiers.intersects(modifiers);
    let (control, alt) = (is_held(KeyModifiers::CONTROL), is_held(KeyModifiers::ALT));
    match (event.code, control, alt) {
        _ if is_held(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META) => None,
        (KeyCode::Enter, false, false) if !is_held(KeyModifiers::SHIFT) => Some(Command::Submit),
        (KeyCode::Enter, _, _) => Some(Command::NewLine),
        (KeyCode::Char(character), true, false) => with_control(character.to_ascii_lowercase()),
        (KeyCode::Char(character), false, true) => with_alt(character.to_ascii_lowercase()),
        // Some keyboards write letters with both.
        (KeyCode::Char(character), _, _) => Some(Command::Insert(character)),
        (code, false, false) => alone(code),
        (code, _, _) => by_word(code),
    }
}

fn alone(code: KeyCode) -> Option<Command> {
    Some(match code {
        KeyCode::Left => Command::Move(Motion::Left),
        KeyCode::Right => Command::Move(Motion::Right),
        KeyCode::Up => Command::Row(Direction::Up),
        KeyCode::Down => Command::Row(Direction::Down),
        KeyCode::Home => Command::Move(Motion::LineStart),
        KeyCode::End => Command::Move(Motion::LineEnd),
        KeyCode::Backspace => Command::Erase(Motion::Left, Erased::Dropped),
        KeyCode::Delete => Command::Erase(Motion::Right, Erased::Dropped),
        _ => return None,
    })
}

/// With Control or Alt, keys that move go by words or by the whole text.
fn by_word(code: KeyCode) -> Option<Command> {
    Some(match code {
        KeyCode::Left => Command::Move(Motion::WordLeft),
        KeyCode::Right => Command::Move(Motion::WordRight),
        KeyCode::Up | KeyCode::Home => Command::Move(Motion::TextStart),
        KeyCode::Down | KeyCode::End => Command::Move(Motion::TextEnd),
        KeyCode::Backspace => Command::Erase(Motion::WordLeft, Erased::Kept),
        KeyCode::Delete => Command::Erase(Motion::WordRight, Erased::Kept),
        _ => return None,
    })
}

fn with_control(character: char) -> Option<Command> {
    Some(match character {
        'a' => Command::Move(Motion::LineStart),
        'e' => Command::Move(Motion::LineEnd),
        'b' => Command::Move(Motion::Left),
        'f' => Command::Move(Motion::Right),
        'p' => Command::Row(Direction::Up),
        'n' => Command::Row(Direction::Down),
        'h' => Command::Erase(Motion::Left, Erased::Dropped),
        'd' => Command::Erase(Motion::Right, Erased::Dropped),
        'k' => Command::Erase(Motion::LineEndOrOver, Erased::Kept),
        'u' => Command::Erase(Motion::LineStartOrOver, Erased::Kept),
        'w' => Command::Erase(Motion::BlankLeft, Erased::Kept),
        'y' => Command::Yank,
        'j' => Command::NewLine,
        // Control and the underscore reach many terminals as Control and 7 or the slash.
        'z' | '_' | '7' | '/' => Command::Undo,
        _ => return None,
    })
}

fn with_alt(character: char) -> Option<Command> {
    Some(match character {
        'b' => Command::Move(Motion::WordLeft),
        'f' => Command::Move(Motion::WordRight),
        'd' => Command::Erase(Motion::WordRight, Erased::Kept),
        '<' => Command::Move(Motion::TextStart),
        '>' => Command::Move(Motion::TextEnd),
        _ => return None,
    })
}
