//! The values of a secret of Kubernetes: what is under `data` and `stringData` of a manifest whose kind is Secret, in
//! YAML and in JSON.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

use super::formats::{FORM_BYTES_MAX, FormFinds, line_end};

/// Fewest bytes of a value that is a secret.
const VALUE_BYTES_MIN: usize = 4;

/// Values in the document around the word that says that it is a secret.
pub(super) fn find(text: &[u8], keyword: Range<usize>) -> FormFinds {
    // `SecretList` and the like.
    if text.get(keyword.end).is_some_and(u8::is_ascii_alphanumeric) {
        return FormFinds { spans: Vec::new(), done: keyword.end };
    }
    let document = document_start(text, keyword.start)..document_end(text, keyword.end);
    let is_json = text[keyword.clone()].starts_with(b"\"");
    let spans = if is_json { in_json(text, document.clone()) } else { in_yaml(text, document.clone()) };
    FormFinds { spans, done: document.end }
}

fn in_yaml(text: &[u8], document: Range<usize>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut block_indent = None;
    let mut at = document.start;
    while at < document.end {
        let next = line_end(text, at, FORM_BYTES_MAX);
        let line = &text[at..next.min(document.end)];
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let words = line[indent..].trim_ascii_end();
        match block_indent {
            _ if words.is_empty() || words.starts_with(b"#") => {}
            Some(block) if indent > block => spans.extend(entry_value(words).map(|value| {
                let begin = at + indent + value.start;
                begin..begin + value.len()
            })),
            _ if words == b"data:" || words == b"stringData:" => block_indent = Some(indent),
            _ => block_indent = None,
        }
        at = next + 1;
    }
    spans
}

/// The value of `name: value`, or of a line that goes on with one.
fn entry_value(words: &[u8]) -> Option<Range<usize>> {
    let colon = memchr::memmem::find(words, b": ").map_or(0, |colon| colon + 2);
    let value = words[colon..].trim_ascii_start();
    let start = words.len() - value.len();
    let quote = usize::from(value.first().is_some_and(|first| matches!(first, b'"' | b'\'')));
    let span = start + quote..words.len() - quote.min(value.len().saturating_sub(quote));
    is_value(&words[span.clone()]).then_some(span)
}

fn in_json(text: &[u8], document: Range<usize>) -> Vec<Range<usize>> {
    static BLOCK: OnceLock<Option<Regex>> = OnceLock::new();
    static ENTRY: OnceLock<Option<Regex>> = OnceLock::new();
    let block = BLOCK.get_or_init(|| Regex::new(r#""(?:data|stringData)"\s{0,8}:\s{0,8}\{([^{}]*)"#).ok());
    let entry = ENTRY.get_or_init(|| Regex::new(r#"":\s{0,8}"((?:[^"\\]|\\.)*)""#).ok());
    let (Some(block), Some(entry)) = (block, entry) else { return Vec::new() };
    let mut spans = Vec::new();
    for entries in block.captures_iter(&text[document.clone()]).filter_map(|block| block.get(1)) {
        let values = entry.captures_iter(entries.as_bytes()).filter_map(|entry| entry.get(1));
        let start = document.start + entries.start();
        let values = values.filter(|value| is_value(value.as_bytes()));
        spans.extend(values.map(|value| start + value.start()..start + value.end()));
    }
    spans
}

/// Whether this is a value, and not the name of a block or something that is filled in later.
fn is_value(value: &[u8]) -> bool {
    const TEMPLATES: [&[u8]; 4] = [b"{{", b"${", b"$(", b"<"];
    value.len() >= VALUE_BYTES_MIN && !value.ends_with(b":") && !TEMPLATES.iter().any(|start| value.starts_with(start))
}

/// Where the document around `at` starts, or as far back as is looked.
fn document_start(text: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(FORM_BYTES_MAX);
    let before = &text[from..at];
    let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    memchr::memmem::rfind(&before[..line], b"\n---").map_or(from, |end| from + end + 1)
}

/// Where the document around `at` ends, or as far as is looked.
fn document_end(text: &[u8], at: usize) -> usize {
    let last = text.len().min(at + FORM_BYTES_MAX);
    memchr::memmem::find(&text[at..last], b"\n---").map_or(last, |end| at + end)
}
