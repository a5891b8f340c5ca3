//! What a request shows the model, as a list of pieces that has one form for all APIs, and as lines for tests
//! to compare.

use std::fmt::Write as _;

use serde_json::Value;

use super::received::{Api, Received};

#[cfg(test)]
mod tests;

/// Most characters of a piece's text in a line of [`Received::shape`].
const LINE_CHARS_MAX: usize = 90;

/// One piece of what the model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Who said it, or what it is.
    pub kind: ShownKind,
    /// The piece's text: words, arguments as JSON, or a result.
    pub text: String,
    /// The name of the tool, if the piece is a call.
    pub tool: Option<String>,
    /// The id of a call, or of the call that a result answers.
    pub call: Option<String>,
    /// Whether the client has set a cache mark on it.
    pub marked: bool,
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownKind {
    /// Instructions, wherever in the request they are.
    System,
    /// Words on the user's side.
    User,
    /// The model's words.
    Assistant,
    /// The model's reasoning.
    Reasoning,
    /// A call of a tool.
    Call,
    /// The result of a call.
    Result,
    /// A piece of another kind; its text is the kind's name.
    Other,
}

impl Received {
    /// What the model is shown, in order, without the tools.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown = Vec::new();
        match self.api {
            Api::Messages | Api::CountTokens => {
                parts(&self.body["system"]).iter().for_each(|block| shown.push(block_shown("system", block)));
                for message in self.body["messages"].as_array().into_iter().flatten() {
                    let role = message["role"].as_str().unwrap_or_default();
                    shown.extend(parts(&message["content"]).iter().map(|block| block_shown(role, block)));
                }
            }
            Api::Responses => {
                if let Some(text) = self.body["instructions"].as_str() {
                    shown.push(plain(ShownKind::System, text.to_owned()));
                }
                shown.extend(self.body["input"].as_array().into_iter().flatten().map(item_shown));
            }
            Api::Chat | Api::Ollama => {
                for message in self.body["messages"].as_array().into_iter().flatten() {
                    shown.extend(message_shown(message));
                }
            }
        }
        shown
    }

    /// What the model is shown, one line for each piece. Branch ids are numbered in the order in which they appear,
    /// so that two runs give the same lines.
    pub fn shape(&self) -> String {
        let mut names = ShortIds::default();
        let mut lines = String::new();
        for piece in self.shown() {
            let text = clipped(&names.in_text(&piece.text));
            let tool = piece.tool.as_deref().unwrap_or_default();
            let line = match piece.kind {
                ShownKind::System => format!("system: {text}"),
                ShownKind::User => format!("user: {text}"),
                ShownKind::Assistant => format!("assistant: {text}"),
                ShownKind::Reasoning => format!("reasoning: {text}"),
                ShownKind::Call => format!("call {tool} {text}"),
                ShownKind::Result => format!("result: {text}"),
                ShownKind::Other => format!("other: {text}"),
            };
            let mark = if piece.marked { " (mark)" } else { "" };
            let _ = writeln!(lines, "{line}{mark}");
        }
        lines
    }

    /// How many of the pieces that the model is shown contain this text.
    pub fn shows_times(&self, text: &str) -> usize {
        self.shown().iter().filter(|piece| piece.text.contains(text)).count()
    }

    /// The ids of infold's branches that are mentioned, in the order of their first mention.
    pub fn branch_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for piece in self.shown() {
            for id in branch_ids(&piece.text) {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        ids
    }

    /// The branch that the model works in: the one that the newest brief names. Without a proxy there is no brief,
    /// and it is the branch that was opened last.
    pub fn own_branch(&self) -> Option<String> {
        let shown = self.shown();
        let is_brief = |piece: &&Shown| {
            matches!(piece.kind, ShownKind::User | ShownKind::Result)
                && piece.text.contains("_return")
                && !branch_ids(&piece.text).is_empty()
        };
        let brief = shown.iter().rev().find(is_brief).and_then(|piece| branch_ids(&piece.text).into_iter().next());
        brief.or_else(|| self.branch_ids().pop())
    }

    /// The result of the newest call of a tool whose name ends with `name`.
    pub fn last_result_of(&self, name: &str) -> Option<String> {
        let shown = self.shown();
        let call = shown.iter().rev().find(|piece| piece.tool.as_deref().is_some_and(|tool| tool.ends_with(name)))?;
        let result = shown.iter().rev().find(|piece| piece.kind == ShownKind::Result && piece.call == call.call)?;
        Some(result.text.clone())
    }
}

/// The branch ids in a text, in order.
fn branch_ids(text: &str) -> Vec<String> {
    const MARK: &str = "br_";
    const UUID_CHARS: usize = 36;
    let ids = text.match_indices(MARK).filter_map(|(at, _)| {
        let id = text.get(at..at + MARK.len() + UUID_CHARS)?;
        let uuid = &id[MARK.len()..];
        uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-').then(|| id.to_owned())
    });
    ids.collect()
}

/// Short names for branch ids, numbered in the order of their appearance.
#[derive(Default)]
struct ShortIds {
    known: Vec<String>,
}

impl ShortIds {
    fn in_text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for id in branch_ids(&text) {
            let at = self.known.iter().position(|known| *known == id).unwrap_or_else(|| {
                self.known.push(id.clone());
                self.known.len() - 1
            });
            text = text.replace(&id, &format!("br_{}", at + 1));
        }
        text
    }
}

fn clipped(text: &str) -> String {
    let text = text.replace('\n', "⏎");
    let count = text.chars().count();
    if count <= LINE_CHARS_MAX {
        return text;
    }
    let head: String = text.chars().take(LINE_CHARS_MAX).collect();
    format!("{head}… ({count} characters)")
}

fn plain(kind: ShownKind, text: String) -> Shown {
    Shown { kind, text, tool: None, call: None, marked: false }
}

/// Content as a list of parts; a plain text becomes one text part.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

/// The text of all parts of a content, joined by line ends.
fn text_of(content: &Value) -> String {
    let parts = parts(content);
    let texts = parts.iter().map(|part| match part["type"].as_str() {
        Some("tool_reference") => format!("(loads {})", part["tool_name"].as_str().unwrap_or_default()),
        _ => part["text"].as_str().unwrap_or_default().to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn words_of(role: &str) -> ShownKind {
    match role {
        "system" | "developer" => ShownKind::System,
        "assistant" => ShownKind::Assistant,
        _ => ShownKind::User,
    }
}

fn block_shown(role: &str, block: &Value) -> Shown {
    let shown = match block["type"].as_str() {
        Some("text") => plain(words_of(role), text_of(&Value::Array(vec![block.clone()]))),
        Some("thinking") => plain(ShownKind::Reasoning, string(&block["thinking"]).unwrap_or_default()),
        Some("tool_use") => Shown {
            tool: string(&block["name"]),
            call: string(&block["id"]),
            ..plain(ShownKind::Call, block["input"].to_string())
        },
        Some("tool_result") => {
            Shown { call: string(&block["tool_use_id"]), ..plain(ShownKind::Result, text_of(&block["content"])) }
        }
        other => plain(ShownKind::Other, other.unwrap_or_default().to_owned()),
    };
    Shown { marked: !block["cache_control"].is_null(), ..shown }
}

fn item_shown(item: &Value) -> Shown {
    let kind = item["type"].as_str().unwrap_or("message");
    let call = string(&item["call_id"]);
    match kind {
        "message" => plain(words_of(item["role"].as_str().unwrap_or_default()), text_of(&item["content"])),
        "reasoning" => plain(ShownKind::Reasoning, text_of(&item["summary"])),
        "tool_search_output" => {
            let names = item["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
            Shown { call, ..plain(ShownKind::Result, format!("(loads {})", names.collect::<Vec<_>>().join(", "))) }
        }
        _ if kind.ends_with("_output") => Shown { call, ..plain(ShownKind::Result, text_of(&item["output"])) },
        _ if kind.ends_with("_call") => {
            let name = string(&item["name"]).unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
            let tool = string(&item["namespace"]).map_or(name.clone(), |namespace| format!("{namespace}__{name}"));
            let arguments = if item["input"].is_null() { &item["arguments"] } else { &item["input"] };
            let text = string(arguments).unwrap_or_else(|| arguments.to_string());
            Shown { tool: Some(tool), call, ..plain(ShownKind::Call, text) }
        }
        other => plain(ShownKind::Other, other.to_owned()),
    }
}

/// Arguments as JSON: OpenAI has them as text, Ollama as an object.
fn arguments(value: &Value) -> String {
    string(value).unwrap_or_else(|| value.to_string())
}

fn message_shown(message: &Value) -> Vec<Shown> {
    let role = message["role"].as_str().unwrap_or_default();
    let text = text_of(&message["content"]);
    if role == "tool" {
        return vec![Shown { call: string(&message["tool_call_id"]), ..plain(ShownKind::Result, text) }];
    }
    let mut shown = Vec::new();
    let thoughts = string(&message["reasoning_content"]).or_else(|| string(&message["thinking"]));
    shown.extend(thoughts.map(|text| plain(ShownKind::Reasoning, text)));
    if !text.is_empty() {
        shown.push(plain(words_of(role), text));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        shown.push(Shown {
            tool: string(&function["name"]),
            call: string(&call["id"]),
            ..plain(ShownKind::Call, arguments(&function["arguments"]))
        });
    }
    shown
}
