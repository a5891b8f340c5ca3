//! Finds out the form of a recording from its beginning.
//!
//! It looks at the first entries that can be understood and decides by the names of their fields. Reading the entries
//! is left to `reader` and `forms`.

use std::collections::BTreeMap;

use crate::error::WireError;
use crate::form::Format;

/// How many lines at the beginning may be unreadable before the search is given up.
const LINES_MAX: usize = 50;
/// How much of a member's text is kept, in bytes: enough for a type, a role or a path.
const TEXT_BYTES_MAX: usize = 64;

/// How a recording arranges its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Each line is an entry.
    Lines,
    /// The recording is one JSON document, and its list has the entries.
    Document,
}

/// Finds the form and the layout. `asked` is the form that the caller expects; it decides where the beginning fits
/// several forms.
pub(crate) fn detect(head: &[u8], asked: Option<Format>) -> Result<(Format, Layout), WireError> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let found = find(text);
    let Some(asked) = asked else {
        if text.is_empty() {
            return Err(WireError::Empty);
        }
        return found.ok_or(WireError::UnknownForm { found: impression(text) });
    };
    match found {
        Some((found, layout)) if found == asked => Ok((asked, layout)),
        // Requests to the two providers look much alike, so the caller's word counts.
        Some((Format::Anthropic | Format::OpenAi, layout)) if matches!(asked, Format::Anthropic | Format::OpenAi) => {
            Ok((asked, layout))
        }
        Some((found, _)) => Err(WireError::OtherForm { asked, found }),
        None if text.is_empty() => Ok((asked, usual_layout(asked))),
        None if matches!(text.first(), Some(b'{' | b'[')) => Ok((asked, usual_layout(asked))),
        None => Err(WireError::UnknownForm { found: impression(text) }),
    }
}

fn usual_layout(format: Format) -> Layout {
    match format {
        Format::ClaudeCode | Format::Codex | Format::Infold | Format::Normalized => Layout::Lines,
        Format::OpenCode | Format::Anthropic | Format::OpenAi => Layout::Document,
    }
}

/// Says in an error what an input that is no transcript looks like.
fn impression(text: &[u8]) -> &'static str {
    let start = &text[..text.len().min(1024)];
    match start {
        [b'{' | b'[', ..] => "it is JSON, but not a transcript",
        _ if start.contains(&0) || std::str::from_utf8(start).is_err_and(|error| error.error_len().is_some()) => {
            "it looks like a binary file"
        }
        _ => "it is text, but not JSON",
    }
}

/// Looks for a form line by line until one is recognised.
fn find(text: &[u8]) -> Option<(Format, Layout)> {
    let mut rest = text;
    for _ in 0..LINES_MAX {
        rest = rest.trim_ascii_start();
        let found = match rest.first()? {
            b'[' => list(&rest[1..], text),
            b'{' => object(rest),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        rest = &rest[memchr::memchr(b'\n', rest)? + 1..];
    }
    None
}

/// The form of a list, by its first element.
fn list(inside: &[u8], whole: &[u8]) -> Option<(Format, Layout)> {
    let inside = inside.trim_ascii_start();
    if inside.first() != Some(&b'{') {
        return None;
    }
    let first = Members::of(inside);
    if first.has("parts") && first.has("info") {
        return Some((Format::OpenCode, Layout::Document));
    }
    let is_message = first.has("role") || first.has("call_id") || first.text("type").is_some();
    let is_request = is_message && (first.has("content") || first.has("type"));
    is_request.then(|| (provider(&first, whole), Layout::Document))
}

/// The form of an object, which is a line of a recording or a whole document.
fn object(text: &[u8]) -> Option<(Format, Layout)> {
    let members = Members::of(text);
    let kind = members.text("type").unwrap_or_default();
    if members.has("events") && (members.has("session") || members.has("source")) {
        return Some((Format::Normalized, Layout::Lines));
    }
    if members.has("payload") && members.has("type") {
        return Some((Format::Codex, Layout::Lines));
    }
    if members.has("body") && (members.has("path") || members.has("url")) {
        let path = members.text("path").or(members.text("url")).unwrap_or_default();
        let is_anthropic = path.contains("/messages");
        let is_openai = path.contains("/responses") || path.contains("/completions");
        return match (is_anthropic, is_openai) {
            (true, _) => Some((Format::Anthropic, Layout::Lines)),
            (_, true) => Some((Format::OpenAi, Layout::Lines)),
            (false, false) => None,
        };
    }
    if members.has("info") && members.has("messages") || members.has("info") && !members.has("type") {
        return Some((Format::OpenCode, Layout::Document));
    }
    if infold_core_event(kind) {
        return Some((Format::Infold, Layout::Lines));
    }
    if members.has("messages") || members.has("input") && !members.has("type") {
        return Some((provider(&members, text), layout(text)));
    }
    if claude_code(&members, kind) {
        return Some((Format::ClaudeCode, Layout::Lines));
    }
    old_codex(&members, kind).then_some((Format::Codex, Layout::Lines))
}

/// Whether a type is the name of an event in infold's own log.
fn infold_core_event(kind: &str) -> bool {
    matches!(
        kind,
        "session_started"
            | "session_forked"
            | "branch_opened"
            | "branch_activated"
            | "operation_seen"
            | "budget_warning"
            | "budget_exhausted"
            | "branch_ended"
            | "rolled_back"
            | "parents_told"
            | "session_ended"
    )
}

fn claude_code(members: &Members, kind: &str) -> bool {
    let marks = ["parentUuid", "sessionId", "isSidechain", "leafUuid", "uuid", "messageId"];
    !kind.is_empty() && marks.iter().any(|mark| members.has(mark))
}

/// Whether it is a Codex line from before lines had an envelope of `type` and `payload`.
fn old_codex(members: &Members, kind: &str) -> bool {
    let is_item = matches!(kind, "message" | "reasoning" | "function_call" | "function_call_output");
    is_item || kind.is_empty() && members.has("id") && members.has("timestamp") && members.has("instructions")
}

/// Guesses which provider a request is for, by fields that only one of them knows.
fn provider(members: &Members, text: &[u8]) -> Format {
    let anthropic = ["\"input_schema\"", "\"tool_use\"", "\"tool_result\"", "\"cache_control\"", "\"thinking\""];
    let openai =
        ["\"tool_calls\"", "\"tool_call_id\"", "\"call_id\"", "\"input_text\"", "\"output_text\"", "\"developer\""];
    let says = |words: &[&str]| words.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some());
    if members.has("input") || members.has("instructions") || members.has("call_id") {
        return Format::OpenAi;
    }
    if members.has("system") || members.has("anthropic_version") {
        return Format::Anthropic;
    }
    if says(&anthropic) {
        return Format::Anthropic;
    }
    let opens_with_system = members.text("role") == Some("system");
    let is_openai = opens_with_system
        || members.has("stream_options")
        || members.has("temperature")
        || says(&openai)
        || says(&["\"role\":\"system\"", "\"role\": \"system\"", "\"role\":\"tool\"", "\"role\": \"tool\""]);
    if is_openai { Format::OpenAi } else { Format::Anthropic }
}

/// Whether each line is a request, or the whole text is a single one.
fn layout(text: &[u8]) -> Layout {
    let Some(end) = memchr::memchr(b'\n', text) else {
        return Layout::Document;
    };
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&text[..end]).is_ok();
    if is_whole { Layout::Lines } else { Layout::Document }
}

/// The members of an object whose end may be missing: their names, and the beginning of values that are text.
struct Members {
    found: BTreeMap<String, String>,
}

impl Members {
    fn has(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.found.get(name).map(String::as_str)
    }

    fn of(text: &[u8]) -> Self {
        let mut found = BTreeMap::new();
        let mut depth = 0_u32;
        let mut key: Option<String> = None;
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'"' => {
                    let end = string_end(text, at + 1);
                    if depth == 1 {
                        let short = &text[at + 1..end.min(at + 1 + TEXT_BYTES_MAX).min(text.len())];
                        let word = String::from_utf8_lossy(short).into_owned();
                        match key.take() {
                            Some(name) => _ = found.insert(name, word),
                            None => key = Some(word),
                        }
                    }
                    at = end;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                b':' if depth == 1 => {
                    if let Some(name) = &key {
                        found.insert(name.clone(), String::new());
                    }
                }
                b',' if depth == 1 => key = None,
                _ => {}
            }
            at += 1;
        }
        Self { found }
    }
}

/// The index of the quote that closes the string which begins here; the end of the text if it is missing.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}
