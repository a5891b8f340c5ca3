//! Pieces: items as this profile shows them, and the class of each.
//!
//! The class decides how long a piece is worth its place. It is found by the tool's name and, for
//! terminals, by the command, because every client names its tools in its own way.

use serde_json::Value;

use super::super::truncate::head;
use crate::transcript::{CLEARED, CallOutcome, HeldContent, Item, Kind, Voice};

/// Longest name of a tool or of a kind of content that is shown whole.
const NAME_CHARS_MAX: usize = 128;
/// A tool with one of these in its name runs commands.
const TERMINALS: [&str; 6] = ["bash", "exec", "shell", "pty", "terminal", "command"];
/// How commands begin that show what is in a file.
const SHOWING: [&str; 6] = ["cat", "sed -n", "nl", "head", "tail", "bat"];

/// What a piece is, as far as its worth depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The person's own words.
    Person,
    /// Words that the client put in.
    Client,
    /// The model's words.
    Model,
    /// A summary of what came before.
    Summary,
    /// A call with its parameters.
    Call {
        /// Whether it is a command that shows a file.
        shows_file: bool,
    },
    /// A result that shows a file.
    View,
    /// The result of a change to a file.
    Edited,
    /// Any other result, and the note in place of an image or a document.
    Other,
}

impl Class {
    /// Whether lines may begin with their number in the file.
    pub fn is_numbered(self) -> bool {
        match self {
            Self::View | Self::Edited => true,
            Self::Person | Self::Client | Self::Model | Self::Summary | Self::Call { .. } | Self::Other => false,
        }
    }

    /// The class of a result of `tool`. `call` is the class of the call that it answers.
    fn of_result(tool: &str, call: Option<Self>) -> Self {
        let tool = tool.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| tool.contains(part));
        if has(&TERMINALS) {
            if call == Some(Self::Call { shows_file: true }) { Self::View } else { Self::Other }
        } else if has(&["stdin"]) {
            Self::Other
        } else if has(&["read", "view"]) {
            Self::View
        } else if has(&["edit", "write", "patch", "replace"]) {
            Self::Edited
        } else {
            Self::Other
        }
    }
}

/// Which call and result belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It is neither a call nor a result.
    None,
    /// A call; once its result has come, the `seq` and the length of that.
    Call { result: Option<(u64, usize)> },
    /// A result, with the `seq` of its call.
    Result { call: Option<u64> },
}

/// An item as it would be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its number among all pieces of the transcript, counted from 0.
    pub seq: u64,
    pub message: u64,
    pub class: Class,
    pub link: Link,
    /// The number of calls in the transcript up to and including it.
    pub calls: u64,
    /// Empty unless it is a result.
    pub tool: String,
    pub outcome: CallOutcome,
    /// The whole text, or both ends of it if it is longer than a whole context.
    pub text: String,
    /// Length of the whole text.
    pub chars: usize,
}

impl Piece {
    /// The line before the text. A result that is shown without its call names its tool.
    pub fn heading(&self, alone: Alone) -> String {
        match (self.class, self.link, alone) {
            (Class::Person, ..) => "[User]\n".to_owned(),
            (Class::Client, ..) => "[Added by the client]\n".to_owned(),
            (Class::Model, ..) => "[Assistant]\n".to_owned(),
            (Class::Summary, ..) => "[Summary of the conversation before]\n".to_owned(),
            (_, Link::Result { .. }, Alone::No) => format!("→{}\n", self.failed(" ")),
            (_, Link::Result { .. }, Alone::Yes) => format!("[Result: {}{}]\n", self.tool, self.failed(", ")),
            (_, Link::None | Link::Call { .. }, _) => String::new(),
        }
    }

    fn failed(&self, before: &str) -> String {
        match self.outcome {
            CallOutcome::Failed => format!("{before}failed"),
            CallOutcome::Unsaid | CallOutcome::Succeeded => String::new(),
        }
    }
}

/// Whether a result is shown without the call before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    Yes,
    No,
}

/// A piece before its number is known.
#[derive(Debug)]
pub(super) struct Draft {
    pub class: Class,
    pub tool: String,
    pub outcome: CallOutcome,
    pub text: String,
}

impl Draft {
    /// `None` if the item is not shown. `call` is the class of the call that a result answers.
    pub fn of(item: Item, call: Option<Class>) -> Option<Self> {
        let plain = |class, text: String| {
            let draft = Self { class, tool: String::new(), outcome: CallOutcome::Unsaid, text };
            (!draft.text.is_empty()).then_some(draft)
        };
        match item.kind {
            Kind::User { text, voice: Voice::Person } => plain(Class::Person, text),
            Kind::User { text, voice: Voice::Client } => plain(Class::Client, text),
            Kind::Assistant { text } => plain(Class::Model, text),
            Kind::Compaction { summary: Some(summary), .. } if !summary.trim().is_empty() => {
                plain(Class::Summary, summary)
            }
            Kind::Call { tool, input, .. } => {
                let arguments: Option<Value> = serde_json::from_str(&input).ok().filter(Value::is_object);
                let arguments = arguments.filter(|_| !has_escaped_letters(&input));
                let shows_file = is_terminal(&tool) && arguments.as_ref().is_some_and(shows_file);
                plain(Class::Call { shows_file }, call_text(head(&tool, NAME_CHARS_MAX), arguments.as_ref(), &input))
            }
            // What the client has cleared, the recording may still have, and the child may need it.
            Kind::Result { tool, text, outcome, held, .. } => {
                let class = Class::of_result(&tool, call);
                let text = if held == HeldContent::Cleared && text.is_empty() { CLEARED.to_owned() } else { text };
                Some(Self { class, tool: head(&tool, NAME_CHARS_MAX).to_owned(), outcome, text })
            }
            Kind::Other { name, .. } => plain(Class::Other, format!("[{}: left out]", head(&name, NAME_CHARS_MAX))),
            Kind::Compaction { .. } | Kind::System { .. } | Kind::Reasoning { .. } | Kind::Clearing { .. } => None,
        }
    }
}

/// Whether letters of a JSON text are written as escapes, which no client does. Reading them would bring to light what
/// nobody could recognise as a secret before.
fn has_escaped_letters(json: &str) -> bool {
    json.match_indices(r"\u00").any(|(at, _)| matches!(json.as_bytes().get(at + 4), Some(b'2'..=b'7')))
}

fn is_terminal(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    TERMINALS.iter().any(|terminal| tool.contains(terminal))
}

/// Whether a terminal's parameters are a command that shows what is in a file, perhaps after going to
/// its folder. One that writes a file by `<<` begins in the same way.
fn shows_file(arguments: &Value) -> bool {
    let command = match arguments.get("command").or_else(|| arguments.get("cmd")) {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return false,
    };
    let command = command.trim();
    !command.contains("<<") && (begins_showing(command) || behind_cd(command).is_some_and(begins_showing))
}

fn begins_showing(command: &str) -> bool {
    SHOWING.iter().any(|word| command.strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace)))
}

/// What a command does after `cd` to some folder.
fn behind_cd(command: &str) -> Option<&str> {
    let folder = command.strip_prefix("cd ")?;
    let end = folder.find([';', '&', '|', '\n'])?;
    let behind = folder[end..].strip_prefix("&&").or_else(|| folder[end..].strip_prefix(';'))?;
    Some(behind.trim_start())
}

/// A call as it is shown: short parameters in parentheses, each other one below under its name. Text is
/// written as it is and not as JSON, because an edit must name the lines that the child reads.
fn call_text(tool: &str, arguments: Option<&Value>, input: &str) -> String {
    let Some(Value::Object(arguments)) = arguments else {
        return if input.is_empty() { format!("{tool}()") } else { format!("{tool}()\n{input}") };
    };
    let (mut short, mut long) = (String::new(), String::new());
    for (key, value) in arguments {
        each_leaf(key, value, &mut |leaf, text| {
            if text.is_empty() || text.contains(char::is_whitespace) {
                long.extend(["\n", leaf, if text.is_empty() { ":" } else { ":\n" }, text]);
            } else if value.is_object() || value.is_array() {
                // Lists of objects would lose their order if parts of them moved up.
                long.extend(["\n", leaf, ": ", text]);
            } else {
                short.extend([if short.is_empty() { "" } else { ", " }, leaf, ": ", text]);
            }
        });
    }
    format!("{tool}({short}){long}")
}

/// Calls `see` with every text, number and the like in a value, and with the key that it has.
fn each_leaf(key: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| each_leaf(key, value, see)),
        Value::Array(values) => values.iter().for_each(|value| each_leaf(key, value, see)),
        Value::String(text) => see(key, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => see(key, &value.to_string()),
    }
}
