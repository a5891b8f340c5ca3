//! Secrets in forms that no pattern describes: cookie headers, secrets of Kubernetes, tables with a column of secrets.
//! Private keys have a file of their own.

use std::ops::Range;

use super::rules::SpecialForm;
use super::{look, private_key};

/// How much of a text behind its keyword is looked at.
const FORM_BYTES_MAX: usize = 64 << 10;
/// Fewest bytes of a cookie's value that is a secret.
const COOKIE_BYTES_MIN: usize = 12;
/// How many rows of a table are looked at.
const TABLE_ROWS_MAX: usize = 1_000;

/// What was found, and up to where the text needs no further look.
pub(super) struct FormFinds {
    pub(super) spans: Vec<Range<usize>>,
    pub(super) done: usize,
}

/// Finds what the form's keyword calls for.
pub(super) fn find(form: SpecialForm, text: &[u8], keyword: Range<usize>) -> FormFinds {
    match form {
        SpecialForm::PrivateKey => FormFinds { spans: private_key::find(text), done: text.len() },
        SpecialForm::Cookies => cookies(text, keyword),
        SpecialForm::KubernetesSecret => kubernetes_secret(text, keyword),
        SpecialForm::Table => table(text, keyword),
    }
}

/// The values of `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`, also as arguments and in JSON.
fn cookies(text: &[u8], keyword: Range<usize>) -> FormFinds {
    let end = line_end(text, keyword.end, FORM_BYTES_MAX);
    let line = &text[keyword.end..end];
    let plural = usize::from(line.starts_with(b"s"));
    let opening = plural + line[plural..].iter().take_while(|byte| b"\"'\\ \t,:=".contains(byte)).count();
    let none = FormFinds { spans: Vec::new(), done: keyword.end };
    if !line[..opening].iter().any(|byte| matches!(byte, b':' | b'=' | b',')) {
        return none;
    }
    let mut spans = Vec::new();
    let mut at = keyword.end + opening;
    for pair in text[at..end].split(|byte| matches!(byte, b';' | b'"' | b'\'' | b',')) {
        if let Some(equals) = memchr::memchr(b'=', pair) {
            let value = &pair[equals + 1..];
            let value = &value[..value.iter().take_while(|byte| byte.is_ascii_graphic() && **byte != b'\\').count()];
            if value.len() >= COOKIE_BYTES_MIN && (look::is_random(value) || is_long_code(value)) {
                spans.push(at + equals + 1..at + equals + 1 + value.len());
            }
        }
        at += pair.len() + 1;
    }
    FormFinds { spans, done: end }
}

/// Whether a value is long and has the alphabet of a code: even without a digit it is no word.
fn is_long_code(value: &[u8]) -> bool {
    const CODE_BYTES_MIN: usize = 24;
    const CODE_BITS_MIN: f32 = 3.5;
    value.len() >= CODE_BYTES_MIN
        && look::entropy_bits(value) >= CODE_BITS_MIN
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-%+/=|:~".contains(byte))
}

/// The values under `data:` and `stringData:` of a Kubernetes manifest whose kind is Secret, before or behind the word.
fn kubernetes_secret(text: &[u8], keyword: Range<usize>) -> FormFinds {
    let start = document_start(text, keyword.start);
    let end = document_end(text, keyword.end);
    let mut spans = Vec::new();
    let mut block_indent = None;
    let mut at = start;
    while at < end {
        let next = line_end(text, at, FORM_BYTES_MAX);
        let line = &text[at..next.min(end)];
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let words = line[indent..].trim_ascii_end();
        match block_indent {
            Some(block) if indent > block => spans.extend(entry_value(words).map(|value| {
                let begin = at + indent + value.start;
                begin..begin + value.len()
            })),
            _ if words == b"data:" || words == b"stringData:" => block_indent = Some(indent),
            _ if words.is_empty() => {}
            _ => block_indent = None,
        }
        at = next + 1;
    }
    FormFinds { spans, done: end }
}

/// The value of `name: value`, or of a line that goes on with one.
fn entry_value(words: &[u8]) -> Option<Range<usize>> {
    const VALUE_BYTES_MIN: usize = 4;
    let colon = memchr::memmem::find(words, b": ").map_or(0, |colon| colon + 2);
    let value = words[colon..].trim_ascii_start();
    let start = words.len() - value.len();
    let quote = usize::from(value.first().is_some_and(|first| matches!(first, b'"' | b'\'')));
    let span = start + quote..words.len() - quote.min(value.len().saturating_sub(quote));
    let value = &words[span.clone()];
    let is_value =
        value.len() >= VALUE_BYTES_MIN && !value.ends_with(b":") && !value.iter().any(|byte| b"{}<>$ ".contains(byte));
    is_value.then_some(span)
}

/// The values in the columns of a table whose head names a secret. The keyword is in the head.
fn table(text: &[u8], keyword: Range<usize>) -> FormFinds {
    let head_start = memchr::memrchr(b'\n', &text[..keyword.start]).map_or(0, |at| at + 1);
    let head_end = line_end(text, keyword.end, FORM_BYTES_MAX);
    let head = &text[head_start..head_end];
    let mut spans = Vec::new();
    let mut at = head_end + 1;
    let separator = if head.contains(&b'\t') { b'\t' } else { b',' };
    let columns: Vec<bool> = head.split(|byte| *byte == separator).map(is_secret_column).collect();
    if columns.len() < 2 || !columns.contains(&true) || !is_head(head, separator) {
        return FormFinds { spans, done: head_end };
    }
    for _ in 0..TABLE_ROWS_MAX {
        if at >= text.len() {
            break;
        }
        let end = line_end(text, at, FORM_BYTES_MAX);
        let cells: Vec<&[u8]> = text[at..end].split(|byte| *byte == separator).collect();
        if cells.len() != columns.len() {
            break;
        }
        let mut cell_start = at;
        for (cell, is_secret) in cells.into_iter().zip(&columns) {
            let value = trimmed_cell(cell);
            if *is_secret && value.len() >= COOKIE_BYTES_MIN / 2 && look::is_mixed(&cell[value.clone()]) {
                spans.push(cell_start + value.start..cell_start + value.end);
            }
            cell_start += cell.len() + 1;
        }
        at = end + 1;
    }
    FormFinds { spans, done: at.min(text.len()) }
}

/// Whether a line is the head of a table: short names and nothing else.
fn is_head(line: &[u8], separator: u8) -> bool {
    const NAME_BYTES_MAX: usize = 40;
    line.split(|byte| *byte == separator).all(|name| {
        name.len() <= NAME_BYTES_MAX
            && name.iter().any(u8::is_ascii_alphabetic)
            && name.iter().all(|byte| byte.is_ascii_alphabetic() || b" _-\"'\r\xef\xbb\xbf".contains(byte))
    })
}

fn is_secret_column(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    ["password", "passwd", "secret", "access key", "access_key", "api key", "api_key", "apikey", "token"]
        .iter()
        .any(|word| look::contains(&lower, word.as_bytes()))
}

/// The cell without blanks and quotes around it.
fn trimmed_cell(cell: &[u8]) -> Range<usize> {
    let is_around = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let start = cell.iter().take_while(|byte| is_around(byte)).count();
    let end = cell.len() - cell[start..].iter().rev().take_while(|byte| is_around(byte)).count();
    start..end
}

/// Where the line that `at` is in ends, or `bytes_max` behind it.
fn line_end(text: &[u8], at: usize, bytes_max: usize) -> usize {
    let last = text.len().min(at.saturating_add(bytes_max));
    let at = at.min(last);
    memchr::memchr(b'\n', &text[at..last]).map_or(last, |end| at + end)
}

/// Where the YAML document around `at` starts, or as far back as is looked.
fn document_start(text: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(FORM_BYTES_MAX);
    let before = &text[from..at];
    let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    memchr::memmem::rfind(&before[..line], b"\n---").map_or(from, |end| from + end + 1)
}

/// Where the YAML document around `at` ends, or as far as is looked.
fn document_end(text: &[u8], at: usize) -> usize {
    let last = text.len().min(at + FORM_BYTES_MAX);
    memchr::memmem::find(&text[at..last], b"\n---").map_or(last, |end| at + end)
}
