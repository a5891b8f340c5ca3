//! Secrets in forms that no pattern describes: cookie headers, secrets of Kubernetes, tables with a column of secrets,
//! private keys. All but the first have a file of their own.

use std::ops::Range;

use super::rules::SpecialForm;
use super::{kubernetes, look, private_key, tables};

/// How much of a text before and behind its keyword is looked at.
pub(super) const FORM_BYTES_MAX: usize = 64 << 10;
/// Fewest bytes of a cookie's value that is a secret.
const COOKIE_BYTES_MIN: usize = 12;

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
        SpecialForm::KubernetesSecret => kubernetes::find(text, keyword),
        SpecialForm::Table => tables::find(text, keyword),
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

/// Where the line that `at` is in ends, or `bytes_max` behind it.
pub(super) fn line_end(text: &[u8], at: usize, bytes_max: usize) -> usize {
    let last = text.len().min(at.saturating_add(bytes_max));
    let at = at.min(last);
    memchr::memchr(b'\n', &text[at..last]).map_or(last, |end| at + end)
}
