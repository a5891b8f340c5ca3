//! Undoes base64 and hex: runs of their digits whose bytes are text.
//!
//! What is before a run may be digits by chance, such as a path before a token, so base64 is read from each of four
//! digits on and hex from each of two. Chance gives no long text, so only what reads as text is looked at.

use std::ops::Range;

use super::{Reading, Run, RunKind};

/// Fewest digits of a run that may hold a secret.
const RUN_DIGITS_MIN: usize = 24;
/// Fewest bytes of text that are looked at.
const TEXT_BYTES_MIN: usize = 12;

/// Calls `look` with a reading of every run that is text.
pub(super) fn each<E>(text: &[u8], look: &mut impl FnMut(Reading) -> Result<(), E>) -> Result<(), E> {
    for run in runs(text) {
        if is_hex(&text[run.clone()]) {
            for shift in 0..2 {
                stretches(&hex(&text[run.start + shift..run.end]), run.start + shift, RunKind::Hex, look)?;
            }
        }
        for shift in 0..4 {
            let digits = run.start + shift..run.end;
            stretches(&base64(&text[digits.clone()]), digits.start, RunKind::Base64, look)?;
        }
    }
    Ok(())
}

/// The runs of digits that are long enough.
fn runs(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            // A run of this length covers one byte in so many, so most of a text is jumped over.
            let probe = text.get(at + RUN_DIGITS_MIN - 1)?;
            if !is_digit(*probe) {
                at += RUN_DIGITS_MIN;
                continue;
            }
            let probe = at + RUN_DIGITS_MIN - 1;
            let back = text[at..probe].iter().rev().take_while(|byte| is_digit(**byte)).count();
            let ahead = text[probe..].iter().take_while(|byte| is_digit(**byte)).count();
            let run = probe - back..probe + ahead;
            at = run.end;
            if run.len() >= RUN_DIGITS_MIN {
                return Some(run);
            }
        }
        None
    })
}

/// Calls `look` with every long enough stretch of text in decoded bytes.
fn stretches<E>(
    bytes: &[u8],
    from: usize,
    kind: RunKind,
    look: &mut impl FnMut(Reading) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = 0;
    // The last byte of a possible stretch is looked at first: if it is no text, all before it are jumped over.
    while let Some(probe) = bytes.get(start + TEXT_BYTES_MIN - 1..).and_then(|rest| rest.first()) {
        let last = start + TEXT_BYTES_MIN - 1;
        if !is_text(*probe) {
            start = last + 1;
            continue;
        }
        match bytes[start..last].iter().rposition(|byte| !is_text(*byte)) {
            Some(other) => start += other + 1,
            None => {
                let end = last + bytes[last..].iter().take_while(|byte| is_text(**byte)).count();
                look(stretch(bytes, start..end, from, kind))?;
                start = end + 1;
            }
        }
    }
    Ok(())
}

/// The reading of one stretch. It begins where a group of digits begins, so that its places can be computed.
fn stretch(bytes: &[u8], span: Range<usize>, from: usize, kind: RunKind) -> Reading {
    let mut reading = Reading { bytes: bytes[span.clone()].to_vec(), ..Reading::default() };
    match kind {
        RunKind::Base64 => {
            // Up to the first whole group byte by byte, so that the rest is counted in groups.
            let odd = (3 - span.start % 3) % 3;
            for at in 0..odd.min(span.len()) {
                let within = span.start + at;
                let digit = within / 3 * 4 + within % 3;
                reading.runs.push(Run { at, from: from + digit, kind: RunKind::Escape(2) });
            }
            if odd < span.len() {
                let whole = (span.start + odd) / 3 * 4;
                reading.runs.push(Run { at: odd, from: from + whole, kind });
            }
        }
        RunKind::Hex => reading.runs.push(Run { at: 0, from: from + span.start * 2, kind }),
        RunKind::Same | RunKind::Escape(_) => {}
    }
    reading
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn is_hex(run: &[u8]) -> bool {
    run.iter().all(u8::is_ascii_hexdigit)
}

fn hex(digits: &[u8]) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte.wrapping_sub(b'A').wrapping_add(10),
    };
    digits.chunks_exact(2).map(|pair| value(pair[0]).wrapping_shl(4) | (value(pair[1]) & 15)).collect()
}

/// The bytes that digits of base64, in either alphabet, mean. The last group may be short.
fn base64(digits: &[u8]) -> Vec<u8> {
    const VALUES: [u8; 256] = base64_values();
    let value = |digit: u8| u32::from(VALUES[usize::from(digit)]);
    let groups = digits.chunks_exact(4);
    let rest = groups.remainder();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in groups {
        let bits = value(group[0]) << 18 | value(group[1]) << 12 | value(group[2]) << 6 | value(group[3]);
        let [_, a, b, c] = bits.to_be_bytes();
        bytes.extend_from_slice(&[a, b, c]);
    }
    let bits = rest.iter().fold(0_u32, |bits, digit| bits << 6 | value(*digit)) << (6 * (4 - rest.len()));
    bytes.extend_from_slice(&bits.to_be_bytes()[1..1 + rest.len() * 6 / 8]);
    bytes
}

const fn base64_values() -> [u8; 256] {
    let digits = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [0; 256];
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
}
