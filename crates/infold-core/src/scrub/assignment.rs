//! Where a value is assigned to a name: in code, settings files, JSON (also inside of a JSON string), YAML, XML, tables
//! of names and values, and calls.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use super::rules::{self, NamePart};

/// How many bytes of a name may follow the word that it was found by.
const NAME_REST_BYTES_MAX: usize = 40;
/// How many bytes of a name may come before that word.
const NAME_START_BYTES_MAX: usize = 40;
/// How many bytes there may be between a name and its value.
const OPERATOR_BYTES_MAX: usize = 160;

/// What is between a name and its value: what closes the name, a type, an operator, what opens the value.
const OPERATOR: &str = concat!(
    // What closes a name: a quote, a bracket, stars in Markdown.
    r#"(?:["'`\\\])*]|&quot;){0,4}"#,
    // A type: `: String`, `: &'static str`, `string` in Go.
    r"(?:[ \t]{1,4}string\b|:[ \t]{0,4}&?(?:'static )?(?:String|string|str)\b)?",
    r"(?:",
    r"[ \t]{0,20}(?:=>|:{1,2}=|\?=|\.=|\+=|\|\|=?|===?|!==?|->|[=:]\*{0,2})(?:[ \t]{0,20}[|>]-?\r?\n)?",
    r"(?:\s{0,40}\x51|[ \t]{0,20})",
    // Two arguments of a call, two columns.
    r"|[ \t]{0,4},[ \t]{0,20}\x51?",
    // The argument of a call that is named for it.
    r"|\([ \t]{0,4}\x51",
    // The text of an XML element.
    r"|>(?:<!\[CDATA\[|\s{0,40})",
    // An element of its own for the value: `</name><value>`.
    r"|</(?:name|key)>\s{0,40}<(?:value|string)>\s{0,40}",
    // A variable of Terraform with its default.
    r#"|[ \t]{0,4}\{\s{0,40}(?:(?:type|description|sensitive)[ \t]{0,20}=[^\n]{0,80}\n\s{0,40}){0,3}default[ \t]{0,20}=[ \t]{0,20}\x51"#,
    // An attribute or a member of its own for the value.
    r#"|[ \t/]{0,4},?\s{0,40}["']?(?i:value|content|data)["']?\s{0,4}[=:]\s{0,4}\x51?"#,
    r")",
);

/// The quote that opens a value. Only one, because two may be an empty value.
const QUOTE: &str = r#"(?:'\\?"|[bBrRuUfFnNeE@$]{0,2}\\{0,3}["'`]|&quot;|%22)"#;

/// A value that is assigned to a name.
pub(super) struct Assigned {
    pub(super) name: Range<usize>,
    pub(super) value_start: usize,
    pub(super) is_quoted: bool,
    /// Whether it is assigned by a sign that only assigns, or is a string that is compared; not behind a comma.
    pub(super) is_plain: bool,
}

/// What is assigned to the name that has `keyword` in it.
pub(super) fn after(text: &[u8], keyword: Range<usize>, part: NamePart) -> Option<Assigned> {
    let name_end = match part {
        NamePart::Last => keyword.end + suffix_bytes(&text[keyword.end..]),
        NamePart::Any => {
            let rest = &text[keyword.end..text.len().min(keyword.end + NAME_REST_BYTES_MAX)];
            keyword.end + rest.iter().take_while(|byte| is_name_byte(**byte) || **byte == b' ').count()
        }
    };
    // Blanks at a name's end belong to the operator.
    let blanks = text[keyword.end..name_end].iter().rev().take_while(|byte| **byte == b' ').count();
    let name_end = name_end - blanks;
    // The quickest look: most names are followed by nothing of the kind.
    if !text.get(name_end).is_some_and(|next| b"\"'`\\])*& \t=:?.+|!-,(><\n\r".contains(next)) {
        return None;
    }
    let window = name_end..text.len().min(name_end + OPERATOR_BYTES_MAX);
    let operator = operator()?.search(&Input::new(text).range(window).anchored(Anchored::Yes))?;
    let before = &text[keyword.start.saturating_sub(NAME_START_BYTES_MAX)..keyword.start];
    let start = keyword.start - before.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    let is_quoted = operator.end() > name_end
        && (matches!(text[operator.end() - 1], b'"' | b'\'' | b'`') || text[..operator.end()].ends_with(b"&quot;"));
    let closers = text[operator.range()].iter().take_while(|byte| b"\"'`\\])*".contains(byte)).count();
    let signs = text[name_end + closers..operator.end()].trim_ascii_start();
    let is_name_quoted = text[operator.range()][..closers].iter().any(|byte| b"\"'`".contains(byte));
    // Two arguments are a name and its value if the name is a string; what follows a tag with attributes is not theirs.
    if (signs.starts_with(b",") && !is_name_quoted) || (signs.starts_with(b">") && is_name_quoted) {
        return None;
    }
    let is_plain = signs.first().is_some_and(|sign| b"=:><?\n{".contains(sign) || sign.is_ascii_alphabetic())
        && (is_quoted || !signs.starts_with(b"=="));
    Some(Assigned { name: start..name_end, value_start: operator.end(), is_quoted, is_plain })
}

/// How many bytes a name goes on with behind the word that says what its value is: a number, or where it is used.
fn suffix_bytes(text: &[u8]) -> usize {
    const PLACES: [&str; 12] =
        ["production", "prod", "staging", "stage", "test", "dev", "live", "old", "new", "main", "backup", "local"];
    let separator = usize::from(text.first().is_some_and(|first| matches!(first, b'_' | b'-')));
    let rest = &text[separator..text.len().min(separator + NAME_REST_BYTES_MAX)];
    let digits = rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    let is_place =
        |place: &&&str| rest.len() >= place.len() && rest[..place.len()].eq_ignore_ascii_case(place.as_bytes());
    let place = PLACES.iter().find(is_place).map_or(0, |place| place.len());
    let suffix = if separator == 1 { digits.max(place) } else { digits };
    let goes_on = rest.get(suffix).is_some_and(|next| is_name_byte(*next));
    if suffix == 0 || goes_on { 0 } else { separator + suffix }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn operator() -> Option<&'static Regex> {
    static OPERATOR_REGEX: OnceLock<Option<Regex>> = OnceLock::new();
    OPERATOR_REGEX.get_or_init(|| rules::compile(&OPERATOR.replace(r"\x51", QUOTE))).as_ref()
}

/// Words of names whose values are no secrets, in lower case, if they are keys or tokens.
const OPEN_WORDS: [&str; 14] = [
    "public",
    "pubkey",
    "authenticity",
    "csrf",
    "xsrf",
    "page",
    "next",
    "continuation",
    "continue",
    "sync",
    "cancel",
    "cancellation",
    "idempotency",
    "placeholder",
];

/// Endings of names whose values are never open, whatever else the name says.
const CLOSED_ENDS: [&str; 4] = ["password", "passwd", "secret", "passphrase"];

/// Names of tokens that only tell requests apart, without what separates their words.
const REQUEST_TOKENS: [&str; 3] = ["clientrequesttoken", "requesttoken", "clienttoken"];

/// Whether a name says that its value is no secret.
pub(super) fn is_open_name(name: &[u8]) -> bool {
    let words = words(name);
    let whole = words.concat();
    let is_closed = CLOSED_ENDS.iter().any(|end| whole.ends_with(end));
    let is_request = REQUEST_TOKENS.iter().any(|token| whole.ends_with(token));
    !is_closed && (is_request || words.iter().any(|word| OPEN_WORDS.contains(&word.as_str())))
}

/// The words of a name in lower case: what capitals and signs divide it into.
fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = b'_';
    for &byte in name {
        if !byte.is_ascii_alphanumeric() {
            before = byte;
            continue;
        }
        let begins = !before.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && byte.is_ascii_uppercase());
        match words.last_mut() {
            Some(word) if !begins => word.push(char::from(byte.to_ascii_lowercase())),
            _ => words.push(char::from(byte.to_ascii_lowercase()).to_string()),
        }
        before = byte;
    }
    words
}
