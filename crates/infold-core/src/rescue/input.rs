//! Shortening the input of a call: its long texts are cut, and its form stays what the tool would take.

use serde_json::Value;

/// Texts up to this length stay whole: names, paths, commands.
const WHOLE_CHARS_MAX: usize = 600;
const HEAD_CHARS: usize = 300;
const TAIL_CHARS: usize = 100;

/// Cuts the long texts of an input; `None` if it has none. JSON stays JSON, with the same keys. Each cut
/// holds `where_whole`, which says where the whole input can be read.
pub fn shorten_input(input: &str, where_whole: &str) -> Option<String> {
    match serde_json::from_str::<Value>(input) {
        Ok(mut value) if !value.is_number() => {
            shorten_value(&mut value, where_whole).then(|| value.to_string()).filter(|short| short.len() < input.len())
        }
        Ok(_) | Err(_) => cut(input, where_whole),
    }
}

/// Cuts the long texts of a value. Gives whether there were any.
fn shorten_value(value: &mut Value, where_whole: &str) -> bool {
    match value {
        Value::String(text) => match cut(text, where_whole) {
            Some(short) => {
                *text = short;
                true
            }
            None => false,
        },
        Value::Array(values) => values.iter_mut().fold(false, |any, value| shorten_value(value, where_whole) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, value| shorten_value(value, where_whole) | any),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn cut(text: &str, where_whole: &str) -> Option<String> {
    let chars = text.chars().count();
    if chars <= WHOLE_CHARS_MAX {
        return None;
    }
    let head_end = text.char_indices().nth(HEAD_CHARS).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().nth(chars - TAIL_CHARS).map_or(text.len(), |(at, _)| at);
    let cut_chars = chars - HEAD_CHARS - TAIL_CHARS;
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    let short = format!("{head}\n[{cut_chars} characters left out; {where_whole}]\n{tail}");
    (short.len() < text.len()).then_some(short)
}
