//! Decodes and writes JSON strings.

use std::borrow::Cow;

use memchr::memchr;

/// Decodes what is between the quotes of a JSON string. Half a surrogate pair, which JavaScript can send, becomes
/// U+FFFD. That happens only to the copy that is read: what is not edited keeps its bytes.
pub(crate) fn decode(inside: &str) -> Cow<'_, str> {
    let Some(first) = memchr(b'\\', inside.as_bytes()) else { return Cow::Borrowed(inside) };
    let mut text = String::with_capacity(inside.len());
    text.push_str(&inside[..first]);
    let mut rest = &inside[first..];
    while let Some(escaped) = rest.strip_prefix('\\') {
        let (char, after) = escape(escaped);
        text.push(char);
        let plain = memchr(b'\\', after.as_bytes()).unwrap_or(after.len());
        text.push_str(&after[..plain]);
        rest = &after[plain..];
    }
    Cow::Owned(text)
}

/// The character that an escape means, and the text after it. `escaped` begins after the backslash.
fn escape(escaped: &str) -> (char, &str) {
    let mut chars = escaped.chars();
    let char = match chars.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('u') => return unicode(chars.as_str()),
        Some(char) => char,
        None => char::REPLACEMENT_CHARACTER,
    };
    (char, chars.as_str())
}

/// The character of four hex digits, or of a surrogate pair of two such escapes, and the text after it.
fn unicode(digits: &str) -> (char, &str) {
    let Some((first, after)) = four_digits(digits) else { return (char::REPLACEMENT_CHARACTER, digits) };
    if let Some(char) = char::from_u32(first) {
        return (char, after);
    }
    let second = after.strip_prefix("\\u").and_then(four_digits);
    match second {
        Some((low, after)) if first < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
            let scalar = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), after)
        }
        _ => (char::REPLACEMENT_CHARACTER, after),
    }
}

fn four_digits(text: &str) -> Option<(u32, &str)> {
    Some((u32::from_str_radix(text.get(..4)?, 16).ok()?, &text[4..]))
}

/// Writes a JSON string with the same escapes as JavaScript's `JSON.stringify`.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..0x20) {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[written..at]);
        written = at + 1;
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[written..]);
    out.push(b'"');
}
