//! Undoes what is written character by character: escapes of JSON and of languages, percent signs of addresses, entities
//! of HTML; and leaves out what is not seen: colour codes and characters without width.

use std::ops::Range;

use super::Reading;

/// How much before and behind an escape is read with it.
const AROUND_BYTES_MAX: usize = 512;
/// Longest colour code or other control sequence that is left out.
const SEQUENCE_BYTES_MAX: usize = 256;

/// One escape: how many bytes of the text it has, and what they stand for.
struct Escape {
    bytes: usize,
    decoded: [u8; 4],
    decoded_bytes: usize,
}

impl Escape {
    fn none(bytes: usize) -> Self {
        Self { bytes, decoded: [0; 4], decoded_bytes: 0 }
    }

    fn byte(bytes: usize, byte: u8) -> Self {
        Self { bytes, decoded: [byte, 0, 0, 0], decoded_bytes: 1 }
    }

    fn character(bytes: usize, code: u32) -> Option<Self> {
        let mut decoded = [0; 4];
        let decoded_bytes = char::from_u32(code)?.encode_utf8(&mut decoded).len();
        Some(if is_without_width(code) { Self::none(bytes) } else { Self { bytes, decoded, decoded_bytes } })
    }
}

/// Calls `look` with a reading of every part of a text that has escapes which may hide something. Line ends and quotes
/// that are written as escapes hide nothing by themselves, so they are undone only beside others.
pub(super) fn each<E>(text: &[u8], look: &mut impl FnMut(Reading) -> Result<(), E>) -> Result<(), E> {
    let mut part: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(next) = next_hiding(text, at) {
        at = next + 1;
        let around = next.saturating_sub(AROUND_BYTES_MAX)..text.len().min(next + AROUND_BYTES_MAX);
        match &mut part {
            Some(part) if around.start <= part.end => part.end = around.end,
            _ => {
                if let Some(part) = part.replace(around) {
                    look(read(text, part))?;
                }
            }
        }
    }
    part.map_or(Ok(()), |part| look(read(text, part)))
}

/// Where the next escape is that may hide something.
fn next_hiding(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let next = next_mark(text, at)?;
        match &text[next..] {
            [b'\\', b'u' | b'U' | b'x' | b'e' | b'0'..=b'3', ..] => return Some(next),
            [b'\\', ..] => {}
            from if escape_at(from).is_some() => return Some(next),
            _ => {}
        }
        at = next + 1;
    }
}

/// A part of the text with its escapes undone.
fn read(text: &[u8], part: Range<usize>) -> Reading {
    let mut reading = Reading::default();
    let mut done = part.start;
    let mut at = part.start;
    while let Some(next) = next_mark(&text[..part.end], at) {
        match escape_at(&text[next..]) {
            Some(escape) => {
                reading.push_same(text, done..next);
                if escape.decoded_bytes > 0 {
                    reading.push_escape(&escape.decoded[..escape.decoded_bytes], next..next + escape.bytes);
                }
                done = next + escape.bytes;
                at = done;
            }
            None => at = next + 1,
        }
    }
    reading.push_same(text, done..part.end.max(done));
    reading
}

/// Where the next byte is that an escape may begin with.
fn next_mark(text: &[u8], at: usize) -> Option<usize> {
    const MARKS: [bool; 256] = marks();
    /// So many bytes are passed over by a few instructions if none of them can be a mark.
    const PASSED_BYTES: usize = 32;
    let may_mark = |byte: u8| !byte.is_ascii() | (byte == b'\\') | (byte == b'%') | (byte == b'&') | (byte == 0x1b);
    let rest = text.get(at..)?;
    let (parts, _) = rest.as_chunks::<PASSED_BYTES>();
    let has_none = |part: &&[u8; PASSED_BYTES]| !part.iter().fold(false, |any, byte| any | may_mark(*byte));
    let passed = parts.iter().take_while(has_none).count() * PASSED_BYTES;
    Some(at + passed + rest[passed..].iter().position(|byte| MARKS[usize::from(*byte)])?)
}

const fn marks() -> [bool; 256] {
    let mut marks = [false; 256];
    let bytes = *b"\\%&\x1b\xe1\xe2\xef\xf3\xc2\xcd";
    let mut at = 0;
    while at < bytes.len() {
        marks[bytes[at] as usize] = true;
        at += 1;
    }
    marks
}

fn escape_at(text: &[u8]) -> Option<Escape> {
    match text {
        [0x1b, ..] => sequence_bytes(&text[1..]).map(|bytes| Escape::none(1 + bytes)),
        [b'%', high, low, ..] => Some(Escape::byte(3, hex_byte(*high, *low)?)),
        [b'\\', ..] => backslash(text),
        [b'&', ..] => entity(text),
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa0..=0xa4 | 0xa6..=0xaf, ..] => {
            Some(Escape::none(3))
        }
        [0xef, 0xbb, 0xbf, ..] | [0xef, 0xb8, 0x80..=0x8f, ..] | [0xe1, 0xa0, 0x8e, ..] => Some(Escape::none(3)),
        [0xf3, 0xa0, _, _, ..] => Some(Escape::none(4)),
        [0xc2, 0xad, ..] | [0xcd, 0x8f, ..] => Some(Escape::none(2)),
        _ => None,
    }
}

/// The escapes that begin with a backslash.
fn backslash(text: &[u8]) -> Option<Escape> {
    for opening in [&b"\\u001b"[..], b"\\u001B", b"\\x1b", b"\\x1B", b"\\033", b"\\e"] {
        if text.starts_with(opening)
            && let Some(bytes) = sequence_bytes(&text[opening.len()..])
        {
            return Some(Escape::none(opening.len() + bytes));
        }
    }
    match text {
        [b'\\', b'u', b'{', rest @ ..] => {
            let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let is_closed = rest.get(digits) == Some(&b'}');
            if digits == 0 || !is_closed { None } else { Escape::character(digits + 4, number(&rest[..digits], 16)?) }
        }
        [b'\\', b'u', a, b, c, d, ..] => Escape::character(6, number(&[*a, *b, *c, *d], 16)?),
        [b'\\', b'U', rest @ ..] => Escape::character(10, number(rest.get(..8)?, 16)?),
        [b'\\', b'x', high, low, ..] => Some(Escape::byte(4, hex_byte(*high, *low)?)),
        [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
            Some(Escape::byte(4, (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')))
        }
        [b'\\', b'n', ..] => Some(Escape::byte(2, b'\n')),
        [b'\\', b'r', ..] => Some(Escape::byte(2, b'\r')),
        [b'\\', b't', ..] => Some(Escape::byte(2, b'\t')),
        [b'\\', quoted @ (b'"' | b'\'' | b'/' | b'\\' | b'`'), ..] => Some(Escape::byte(2, *quoted)),
        _ => None,
    }
}

/// Entities: those of characters that tokens and assignments have, and all that are written as numbers.
fn entity(text: &[u8]) -> Option<Escape> {
    for (name, byte) in [(&b"&amp;"[..], b'&'), (b"&quot;", b'"'), (b"&apos;", b'\''), (b"&lt;", b'<'), (b"&gt;", b'>')]
    {
        if text.starts_with(name) {
            return Some(Escape::byte(name.len(), byte));
        }
    }
    let rest = text.strip_prefix(b"&#")?;
    let (radix, digits) = match rest {
        [b'x' | b'X', digits @ ..] => (16, digits),
        digits => (10, digits),
    };
    let count = digits.iter().take(7).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let opening = text.len() - digits.len();
    (digits.get(count) == Some(&b';')).then_some(())?;
    Escape::character(opening + count + 1, number(&digits[..count], radix)?)
}

/// How long the rest of a control sequence is, behind its escape character.
fn sequence_bytes(text: &[u8]) -> Option<usize> {
    let near = &text[..text.len().min(SEQUENCE_BYTES_MAX)];
    match near {
        [b'[', rest @ ..] => {
            let parameters = rest.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            matches!(rest.get(parameters), Some(0x40..=0x7e)).then_some(parameters + 2)
        }
        [b']', rest @ ..] => {
            // An address may be in it, which is longer than a colour.
            let end = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b))?;
            Some(end + if rest[end] == 0x07 { 2 } else { 3 })
        }
        [b'(' | b')', _, ..] => Some(2),
        _ => None,
    }
}

/// Whether a character is not seen.
fn is_without_width(code: u32) -> bool {
    matches!(code, 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064 | 0x2066..=0x206f | 0xfeff | 0xad | 0x34f | 0x180e
        | 0xfe00..=0xfe0f | 0xe0000..=0xe0fff)
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}
