//! Texts of servers that nobody vouches for: what a screen or a model would read in them and a person would not see is
//! taken out. The work grows with the length of the text and never faster.

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{is_plain, strip_controls};

const ESCAPE: char = '\u{1b}';

/// Takes out escape sequences of terminals with all that is in them, control characters (line feed and tab stay), marks
/// that reorder text, and tag characters.
pub fn strip_hostile(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let hides = |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{e0000}'..='\u{e007f}');
    let mut escapes = Escapes { may_close: true };
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(begins_escape) {
        kept.push_str(&rest[..at]);
        rest = escapes.skip(&rest[at..]);
    }
    kept.push_str(rest);
    strip_controls(&kept).chars().filter(|c| !hides(*c)).collect()
}

/// A value of which every string and every name went through [`strip_hostile`].
pub fn strip_hostile_in(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(strip_hostile(text)),
        Value::Array(items) => Value::Array(items.iter().map(strip_hostile_in).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (strip_hostile(name), strip_hostile_in(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn begins_escape(c: char) -> bool {
    matches!(c, ESCAPE | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
}

/// Reads over escape sequences.
struct Escapes {
    /// Whether a sequence that carries text can still be closed. If one is not, no later one is either, and looking for
    /// an end at each of them would take the square of the text's length.
    may_close: bool,
}

impl Escapes {
    /// What comes after the sequence that `text` begins with.
    fn skip<'a>(&mut self, text: &'a str) -> &'a str {
        let mut characters = text.chars();
        let first = characters.next();
        let kind = if first == Some(ESCAPE) { characters.clone().next() } else { first };
        match kind {
            Some('[') => {
                characters.next();
                skip_command(characters.as_str())
            }
            Some('\u{9b}') => skip_command(characters.as_str()),
            Some(']' | 'P' | 'X' | '^' | '_') => {
                characters.next();
                self.skip_text(characters.as_str())
            }
            Some('\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => self.skip_text(characters.as_str()),
            Some(' '..='~') => skip_short(characters.as_str()),
            _ => characters.as_str(),
        }
    }

    /// Reads over the text of a sequence, to its end. One without an end hides nothing: its words stay.
    fn skip_text<'a>(&mut self, text: &'a str) -> &'a str {
        if !self.may_close {
            return text;
        }
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            if matches!(c, '\u{7}' | '\u{9c}') || (before == ESCAPE && c == '\\') {
                return &text[at + c.len_utf8()..];
            }
            before = c;
        }
        self.may_close = false;
        text
    }
}

/// Reads over the numbers of a command and the letter that ends it.
fn skip_command(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| matches!(c, ' '..='?'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// Reads over a sequence of a few signs and the letter that ends it.
fn skip_short(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
}
