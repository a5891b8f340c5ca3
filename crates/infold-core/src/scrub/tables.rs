//! The values in the columns of a table whose head names a secret: comma, semicolon, tab or bar between the cells.

use std::ops::Range;

use super::formats::{FORM_BYTES_MAX, FormFinds, line_end};
use super::look::{self, SecretLook};

/// How many rows of a table are looked at.
const ROWS_MAX: usize = 1_000;
/// Longest head, and longest name in it.
const HEAD_BYTES_MAX: usize = 4 << 10;
const NAME_BYTES_MAX: usize = 40;
/// Fewest bytes of a password, and of another secret.
const PASSWORD_BYTES_MIN: usize = 6;
const SECRET_BYTES_MIN: usize = 12;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Open,
    Passwords,
    /// Keys and tokens: what machines make.
    Secrets,
}

/// The values below the head that the keyword is in.
pub(super) fn find(text: &[u8], keyword: Range<usize>) -> FormFinds {
    let before = &text[keyword.start.saturating_sub(HEAD_BYTES_MAX)..keyword.start];
    let head_start = keyword.start - memchr::memrchr(b'\n', before).map_or(before.len(), |at| before.len() - at - 1);
    let head_end = line_end(text, keyword.end, HEAD_BYTES_MAX);
    let head = &text[head_start..head_end];
    let separator = [b'\t', b';', b'|'].into_iter().find(|byte| head.contains(byte)).unwrap_or(b',');
    let names = cells(head, separator);
    let columns: Vec<Column> = names.iter().map(|name| column(&head[name.clone()])).collect();
    // Tables of Markdown begin and end with a bar, and so with an empty cell.
    let is_head = names.iter().all(|name| is_name(&head[name.clone()]) || (name.is_empty() && separator == b'|'));
    let mut spans = Vec::new();
    if columns.len() < 2 || !is_head || columns.iter().all(|column| *column == Column::Open) {
        return FormFinds { spans, done: head_end };
    }
    let mut at = head_end + 1;
    for _ in 0..ROWS_MAX {
        if at >= text.len() {
            break;
        }
        let end = line_end(text, at, FORM_BYTES_MAX);
        let row = &text[at..end];
        let values = cells(row, separator);
        if values.len() == columns.len() {
            let secrets = values.into_iter().zip(&columns).filter(|(value, column)| column.holds(&row[value.clone()]));
            spans.extend(secrets.map(|(value, _)| at + value.start..at + value.end));
        } else if !row.iter().all(|byte| b"-+=| \t\r".contains(byte)) {
            // Neither empty nor a rule below the head.
            break;
        }
        at = end + 1;
    }
    FormFinds { spans, done: at.min(text.len()) }
}

impl Column {
    fn holds(self, value: &[u8]) -> bool {
        match self {
            Self::Open => false,
            Self::Passwords => value.len() >= PASSWORD_BYTES_MIN && SecretLook::Password.fits(value),
            Self::Secrets => value.len() >= SECRET_BYTES_MIN && look::is_mixed(value) && !value.contains(&b' '),
        }
    }
}

/// What the name of a column says about its values.
fn column(name: &[u8]) -> Column {
    const SECRETS: [&str; 7] = ["secret", "access key", "access_key", "api key", "api_key", "apikey", "token"];
    let lower = name.to_ascii_lowercase();
    let has = |word: &str| look::contains(&lower, word.as_bytes());
    if has("password") || has("passwd") {
        Column::Passwords
    } else if SECRETS.into_iter().any(has) {
        Column::Secrets
    } else {
        Column::Open
    }
}

/// Whether a cell is a name in a head.
fn is_name(cell: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&cell.len())
        && cell.iter().all(|byte| byte.is_ascii_alphanumeric() || b" _-".contains(byte))
}

/// The cells of a row, without blanks and quotes around them. A separator in quotes separates nothing.
fn cells(row: &[u8], separator: u8) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut is_quoted = false;
    for (at, byte) in row.iter().enumerate() {
        if *byte == b'"' {
            is_quoted = !is_quoted;
        }
        if *byte == separator && !is_quoted {
            cells.push(trimmed(row, start..at));
            start = at + 1;
        }
    }
    cells.push(trimmed(row, start..row.len()));
    cells
}

fn trimmed(row: &[u8], cell: Range<usize>) -> Range<usize> {
    let is_around = |byte: &&u8| byte.is_ascii_whitespace() || b"\"'\xef\xbb\xbf".contains(byte);
    let before = row[cell.clone()].iter().take_while(is_around).count();
    let behind = row[cell.start + before..cell.end].iter().rev().take_while(is_around).count();
    cell.start + before..cell.end - behind
}
