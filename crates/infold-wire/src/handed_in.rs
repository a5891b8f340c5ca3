//! Reads transcripts that a caller hands in inside a JSON request: a list of messages, the lines of a recording as a
//! list, an exported session, or the text of a file.
//!
//! A file may be damaged in places, and the rest of it is still worth having. A caller, however, can correct what it
//! hands in, so here every problem is a refusal that says where it is.

use infold_core::transcript::Item;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error::WireError;
use crate::form::Format;
use crate::reader::{ReadLimits, Reader};

/// Why a transcript that was handed in is refused. The text is a phrase to be put after the name of the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotATranscript(String);

impl From<WireError> for NotATranscript {
    fn from(error: WireError) -> Self {
        Self(format!("cannot be read: {error}"))
    }
}

/// Reads a transcript from the JSON value `json`. Without a `format`, the form is found out.
pub fn read_handed_in(json: &str, format: Option<Format>) -> Result<Vec<Item>, NotATranscript> {
    let json = json.trim();
    match json.as_bytes().first() {
        Some(b'[') => read_list(json, format),
        Some(b'{') => {
            let holder: Holder<'_> = serde_json::from_str(json).unwrap_or_default();
            check_elements(&holder.messages.or(holder.input).unwrap_or_default())?;
            read(json, format, Unit::Element)
        }
        Some(b'"') => {
            let text: String = serde_json::from_str(json).map_err(|_| wrong_kind())?;
            read(&text, format, Unit::Line)
        }
        _ => Err(wrong_kind()),
    }
}

fn wrong_kind() -> NotATranscript {
    NotATranscript("must be a list of messages, an exported session, or the text of a file".to_owned())
}

/// Reads a list, which holds either the messages of a request or an export, or the lines of a recording.
fn read_list(json: &str, format: Option<Format>) -> Result<Vec<Item>, NotATranscript> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| wrong_kind())?;
    if elements.is_empty() {
        return Err(NotATranscript("is empty: send at least one message".to_owned()));
    }
    check_elements(&elements)?;
    // JSON has line ends only between its parts, never inside a string, so they can be replaced by spaces.
    let lines: String = elements.iter().map(|element| element.get().replace(['\n', '\r'], " ") + "\n").collect();
    if is_recording(&lines, format) { read(&lines, format, Unit::Element) } else { read(json, format, Unit::Element) }
}

/// An exported session or a request, with its messages in a list.
#[derive(Default, Deserialize)]
struct Holder<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    input: Option<Vec<&'a RawValue>>,
}

fn check_elements(elements: &[&RawValue]) -> Result<(), NotATranscript> {
    if let Some(at) = elements.iter().position(|element| !element.get().starts_with('{')) {
        let number = at + 1;
        return Err(NotATranscript(format!("has an element that is no object, number {number}: send messages only")));
    }
    if let Some((at, problem)) =
        elements.iter().enumerate().find_map(|(at, element)| Some((at, shape_problem(element)?)))
    {
        let number = at + 1;
        return Err(NotATranscript(format!("has an element that is no message, number {number}: {problem}")));
    }
    Ok(())
}

/// The fields by which a message or a line of a recording differs from any other object. Their content is left to the
/// parser.
#[derive(Deserialize)]
struct HandedInShape<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    r#type: Option<IgnoredAny>,
    #[serde(borrow)]
    info: Option<&'a RawValue>,
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tool_calls: Option<IgnoredAny>,
    events: Option<IgnoredAny>,
    instructions: Option<IgnoredAny>,
}

/// The roles that a message can have.
const ROLES: [&str; 6] = ["user", "assistant", "system", "developer", "tool", "function"];

/// Why an element cannot be read as a message; `None` if it can. The parser of a recording would skip such an element,
/// and the caller would not notice that something is missing.
fn shape_problem(element: &RawValue) -> Option<&'static str> {
    let Ok(shape) = serde_json::from_str::<HandedInShape<'_>>(element.get()) else {
        return Some("one of its fields is given twice; give it once");
    };
    let is = |value: Option<&RawValue>, first: char| value.is_some_and(|value| value.get().starts_with(first));
    if let Some(role) = shape.role {
        let is_known = serde_json::from_str::<&str>(role.get()).is_ok_and(|role| ROLES.contains(&role));
        let has_words = is(shape.content, '"') || is(shape.content, '[') || is(shape.content, '{');
        return match (is_known, has_words || shape.tool_calls.is_some() || shape.r#type.is_some()) {
            (false, _) => Some("its role is none; use user, assistant, system, developer or tool"),
            (true, false) => Some("it has no content; give it some, or leave it out"),
            (true, true) => None,
        };
    }
    if shape.info.is_some() {
        let is_whole = is(shape.info, '{') && is(shape.parts, '[');
        return (!is_whole).then_some("its info must be an object and its parts a list");
    }
    let is_line = shape.r#type.is_some() || shape.events.is_some() || shape.instructions.is_some();
    (!is_line).then_some("it has neither role nor type nor info; send messages as their client keeps them")
}

/// Whether the elements are lines of a recording rather than messages.
fn is_recording(lines: &str, asked: Option<Format>) -> bool {
    let found = || Reader::new(lines.as_bytes(), None, limits(lines)).ok().map(|reader| reader.format());
    // Items of a request look like lines of an old recording. A caller that names the form of a request knows better.
    !asked.is_some_and(is_document) && found().is_some_and(|found| !is_document(found))
}

/// Whether recordings of this form are one document rather than lines.
fn is_document(format: Format) -> bool {
    match format {
        Format::OpenCode | Format::Anthropic | Format::OpenAi => true,
        Format::ClaudeCode | Format::Codex | Format::Infold | Format::Normalized => false,
    }
}

/// What an error calls the parts of a transcript, as its sender sees them.
#[derive(Clone, Copy)]
enum Unit {
    Element,
    Line,
}

fn read(text: &str, format: Option<Format>, unit: Unit) -> Result<Vec<Item>, NotATranscript> {
    let reader = Reader::new(text.as_bytes(), format, limits(text))?;
    let format = reader.format();
    let read = reader.into_transcript()?;
    let unit = match unit {
        Unit::Element => "element",
        Unit::Line => "line",
    };
    match read.problems.first() {
        None if read.transcript.items.is_empty() => {
            Err(NotATranscript(format!("holds no messages, read as {format}: send at least one")))
        }
        None => Ok(read.transcript.items),
        Some(problem) if problem.entry == 0 => Err(NotATranscript(format!("cannot be read: {}", problem.reason))),
        Some(problem) => {
            let (entry, reason) = (problem.entry, &problem.reason);
            Err(NotATranscript(format!("cannot be read at {unit} {entry}: {reason}; leave it out or mend it")))
        }
    }
}

/// Limits that the text always meets: all of it is in memory already, so no entry is too long.
fn limits(text: &str) -> ReadLimits {
    ReadLimits { entry_bytes_max: text.len() + 1, problems_max: 1 }
}

#[cfg(test)]
mod tests;
