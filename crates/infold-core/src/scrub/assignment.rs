//! Where a value is assigned to a name: in code, settings files, JSON (also inside of a JSON string), YAML, XML, tables
//! of names and values, and calls.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use super::look;
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
    r"[ \t]{0,20}(?:=>|:{1,2}=|\?=|\.=|\+=|\|\|=?|===?|!==?|->|[=:])(?:[ \t]{0,20}[|>]-?\n)?",
    r"(?:[ \t]{0,20}\x51?|\s{0,40}\x51)",
    // Two arguments of a call, two columns.
    r"|[ \t]{0,4},[ \t]{0,20}\x51?",
    // The argument of a call that is named for it.
    r"|\([ \t]{0,4}\x51",
    // The text of an XML element.
    r"|>(?:<!\[CDATA\[|\s{0,40})",
    // An attribute or a member of its own for the value.
    r#"|[ \t/]{0,4},?\s{0,40}["']?(?i:value|content|data)["']?\s{0,4}[=:]\s{0,4}\x51?"#,
    r")",
);

/// The quote that opens a value. Only one, because two may be an empty value.
const QUOTE: &str = r#"(?:'\\?"|[bBrRuUfF@$]{0,2}\\{0,3}["'`]|&quot;|%22)"#;

/// A value that is assigned to a name.
pub(super) struct Assigned {
    pub(super) name: Range<usize>,
    pub(super) value_start: usize,
    pub(super) is_quoted: bool,
    /// Whether it is assigned by a sign that only assigns, and not by a comma or by one that compares.
    pub(super) is_plain: bool,
}

/// What is assigned to the name that has `keyword` in it.
pub(super) fn after(text: &[u8], keyword: Range<usize>, part: NamePart) -> Option<Assigned> {
    let name_end = match part {
        NamePart::Last => keyword.end,
        NamePart::Any => {
            let rest = &text[keyword.end..text.len().min(keyword.end + NAME_REST_BYTES_MAX)];
            keyword.end + rest.iter().take_while(|byte| is_name_byte(**byte) || **byte == b' ').count()
        }
    };
    // Blanks at a name's end belong to the operator.
    let blanks = text[keyword.end..name_end].iter().rev().take_while(|byte| **byte == b' ').count();
    let name_end = name_end - blanks;
    // The quickest look: most names are followed by nothing of the kind.
    if !text.get(name_end).is_some_and(|next| b"\"'`\\])*& \t=:?.+|!-,(>\n\r".contains(next)) {
        return None;
    }
    let window = name_end..text.len().min(name_end + OPERATOR_BYTES_MAX);
    let operator = operator()?.search(&Input::new(text).range(window).anchored(Anchored::Yes))?;
    let before = &text[keyword.start.saturating_sub(NAME_START_BYTES_MAX)..keyword.start];
    let start = keyword.start - before.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    let is_quoted = operator.end() > name_end
        && (matches!(text[operator.end() - 1], b'"' | b'\'' | b'`') || text[..operator.end()].ends_with(b"&quot;"));
    let sign = text[operator.range()].iter().find(|byte| !b"\"'`\\])* \t".contains(byte));
    let is_plain = sign.is_some_and(|sign| b"=:>?\n".contains(sign) || sign.is_ascii_alphabetic());
    Some(Assigned { name: start..name_end, value_start: operator.end(), is_quoted, is_plain })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn operator() -> Option<&'static Regex> {
    static OPERATOR_REGEX: OnceLock<Option<Regex>> = OnceLock::new();
    OPERATOR_REGEX.get_or_init(|| rules::compile(&OPERATOR.replace(r"\x51", QUOTE))).as_ref()
}

/// Parts of names whose values are no secrets, in lower case.
const OPEN_NAMES: [&str; 13] = [
    "public",
    "authenticity",
    "csrf",
    "xsrf",
    "page",
    "next",
    "continu",
    "sync",
    "cancel",
    "pubkey",
    "idempotency",
    "clientrequest",
    "placeholder",
];

/// Whether a name says that its value is no secret.
pub(super) fn is_open_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    OPEN_NAMES.iter().any(|open| look::contains(&name, open.as_bytes()))
}
