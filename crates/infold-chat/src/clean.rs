//! Text without anything that could steer a terminal.
//!
//! What must hold: [`visible`] looks at one character at a time, so that a text may be cut anywhere and comes out the
//! same. What it gives has no control characters but line ends and tabs, no marks that turn the direction of writing,
//! and no characters that nobody can see but a program reads.

use std::borrow::Cow;

/// What is shown for a character that begins a command to the terminal.
const ESCAPE_SHOWN: char = '␛';

/// The text as it may be shown: characters that begin commands to the terminal are replaced, other ones that cannot be
/// seen are left out. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(|character| shown(character) == Some(character)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(shown).collect())
}

/// The text on one line: line ends and tabs are blanks.
pub fn visible_in_line(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if text.contains(['\n', '\t']) { Cow::Owned(text.replace(['\n', '\t'], " ")) } else { text }
}

/// What is shown for one character; nothing if it is left out.
pub fn shown(character: char) -> Option<char> {
    match character {
        '\n' | '\t' => Some(character),
        '\u{1b}' | '\u{9b}' => Some(ESCAPE_SHOWN),
        '\u{2028}' | '\u{2029}' => Some(' '),
        _ if character.is_control() || is_hidden(character) => None,
        _ => Some(character),
    }
}

/// Marks for the direction of writing, blanks without width, soft hyphens, notes between lines, and tags. The joiner of
/// emoji stays.
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
