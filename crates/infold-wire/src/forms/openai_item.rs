//! Parses one item of OpenAI's APIs, from a rollout or a request: Responses items and Chat messages.
//!
//! A web search, which the provider runs itself, has no output in a transcript. Its call gets an empty result here, so
//! that every call has one.

use std::cell::LazyCell;

use infold_core::transcript::{CallOutcome, HeldContent, Kind, Voice};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content::{Content, Speaker, compact, held, json_at, other};
use crate::json_text::{elements, locate};
use crate::loose::{Count, List, Loose, Maybe, Str, text_of};

/// The fields of an item that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct OpenAiItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Str<'a>,
    #[serde(borrow)]
    pub(crate) role: Str<'a>,
    #[serde(borrow)]
    pub(crate) id: Str<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    #[serde(borrow)]
    pub(crate) call_id: Str<'a>,
    #[serde(borrow)]
    pub(crate) name: Str<'a>,
    #[serde(borrow)]
    pub(crate) namespace: Str<'a>,
    #[serde(borrow)]
    pub(crate) status: Str<'a>,
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) output: Content<'a>,
    #[serde(borrow)]
    pub(crate) summary: Content<'a>,
    #[serde(borrow)]
    pub(crate) encrypted_content: Str<'a>,
    #[serde(borrow)]
    pub(crate) internal_chat_message_metadata_passthrough: Maybe<Passthrough<'a>>,
    // Fields that only Chat messages have.
    #[serde(borrow)]
    tool_calls: List<ChatCall<'a>>,
    #[serde(borrow)]
    tool_call_id: Str<'a>,
    reasoning_content: Loose,
    refusal: Loose,
    // Fields that only payloads of rollouts have.
    pub(crate) message: Loose,
    /// The items that a compaction leaves, each still as JSON.
    #[serde(borrow)]
    pub(crate) replacement_history: List<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) model: Str<'a>,
    #[serde(borrow)]
    pub(crate) session_id: Str<'a>,
    pub(crate) num_turns: Count,
}

/// Codex's own note on what each part of a user message is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Passthrough<'a> {
    #[serde(borrow)]
    content_item_kinds: List<Str<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatCall<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    function: Maybe<ChatFunction<'a>>,
    #[serde(borrow)]
    custom: Maybe<ChatFunction<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatFunction<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// The place that an item was read from.
#[derive(Clone, Copy)]
pub(crate) struct ItemSource<'t> {
    /// The JSON of the whole entry.
    pub(crate) text: &'t str,
    /// The JSON pointer to the item in that text.
    pub(crate) pointer: &'t str,
    /// The number of the entry, from which calls without an id get one.
    pub(crate) number: u64,
}

impl<'t> ItemSource<'t> {
    /// The JSON of each element of one of the item's lists.
    fn elements(self, list: &str) -> Vec<&'t RawValue> {
        elements(self.text, &format!("{}/{list}", self.pointer))
    }
}

impl OpenAiItem<'_> {
    /// Whether the item is part of a model's answer.
    pub(crate) fn is_answer(&self) -> bool {
        match self.kind.as_str() {
            "reasoning" => true,
            "message" | "" => self.role.as_str() == "assistant",
            kind => kind.ends_with("_call"),
        }
    }

    /// Makes items of a transcript from it, each with the number of its part.
    pub(crate) fn kinds(self, from: ItemSource<'_>) -> Vec<(u32, Kind)> {
        match self.kind.as_str() {
            "message" | "" if self.role.as_str() == "tool" => vec![(0, self.chat_result())],
            "message" | "" => self.message(from),
            "reasoning" => vec![(0, self.reasoning())],
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" | "mcp_call" => {
                vec![(0, self.call(from))]
            }
            "web_search_call" => self.search(from),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => self.result(from),
            "tool_search_output" => vec![(0, self.tools_found())],
            _ => vec![(0, self.unknown(from))],
        }
    }

    fn message(self, from: ItemSource<'_>) -> Vec<(u32, Kind)> {
        let kinds = self.internal_chat_message_metadata_passthrough.0.map(|known| known.content_item_kinds.0);
        let part_kinds = kinds.unwrap_or_default();
        let speaker = |part: u32| match self.role.as_str() {
            "developer" | "system" => Speaker::System,
            "assistant" => Speaker::Model,
            _ => match part_kinds.get(part as usize) {
                Some(kind) if !kind.as_str().starts_with("user") && kind.as_str() != "unknown" => {
                    Speaker::User(Voice::Client)
                }
                _ => Speaker::User(Voice::Person),
            },
        };
        let mut parts = Vec::new();
        if let Some(text) = self.reasoning_content.0.filter(|text| !text.is_empty()) {
            parts.push((0, Kind::Reasoning { text, sealed_bytes: 0 }));
        }
        match self.content {
            Content::Absent => {}
            Content::Text(text) if text.is_empty() && !self.tool_calls.0.is_empty() => {}
            Content::Text(text) => parts.push((0, speaker(0).says(text))),
            Content::Blocks(blocks) => {
                let unread = LazyCell::new(|| from.elements("content"));
                for (part, block) in (0..).zip(&blocks) {
                    let kind = match block.words() {
                        Some(words) => speaker(part).says(words.to_owned()),
                        None => other(block, json_at(&unread, part)),
                    };
                    parts.push((part, kind));
                }
            }
        }
        if let Some(text) = self.refusal.0.filter(|text| !text.is_empty()) {
            parts.push((0, Kind::Assistant { text }));
        }
        for (part, call) in (0..).zip(self.tool_calls.0) {
            let function = call.function.0.or(call.custom.0).unwrap_or_default();
            let input = function.arguments.or(function.input).map(RawValue::get).map(text_of).unwrap_or_default();
            parts.push((part, Kind::Call { id: call.id.0.into_owned(), tool: function.name.0.into_owned(), input }));
        }
        parts
    }

    fn reasoning(self) -> Kind {
        let summary = self.summary.into_text();
        let content = self.content.into_text();
        let both = [summary, content].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        Kind::Reasoning { text: both.join("\n"), sealed_bytes: self.encrypted_content.as_str().len() }
    }

    fn call(self, from: ItemSource<'_>) -> Kind {
        let id = self.call_id.given().or_else(|| self.id.given()).unwrap_or_else(|| format!("call_{}", from.number));
        let tool = match self.kind.as_str() {
            "local_shell_call" => "local_shell".to_owned(),
            "tool_search_call" => "tool_search".to_owned(),
            _ => tool_name(self.namespace.as_str(), self.name.as_str()),
        };
        let input = self.arguments.or(self.input).or(self.action).map(RawValue::get).map(text_of);
        Kind::Call { id, tool, input: input.unwrap_or_default() }
    }

    fn search(self, from: ItemSource<'_>) -> Vec<(u32, Kind)> {
        let id = self.id.given().unwrap_or_else(|| format!("search_{}", from.number));
        let tool = "web_search".to_owned();
        let outcome = match self.status.as_str() {
            "completed" => CallOutcome::Succeeded,
            "failed" => CallOutcome::Failed,
            _ => CallOutcome::Unsaid,
        };
        let input = self.action.map_or_else(|| "{}".to_owned(), compact);
        let call = Kind::Call { id: id.clone(), tool: tool.clone(), input };
        vec![(0, call), (0, Kind::Result { id, tool, text: String::new(), outcome, held: HeldContent::Whole })]
    }

    fn result(self, from: ItemSource<'_>) -> Vec<(u32, Kind)> {
        let unread = LazyCell::new(|| from.elements("output"));
        let others: Vec<(u32, Kind)> = (0..)
            .zip(self.output.blocks())
            .filter(|(_, block)| block.words().is_none())
            .map(|(part, block)| (0, other(block, json_at(&unread, part))))
            .collect();
        let (text, outcome) = outcome_of(self.output.into_text());
        let held = held(&text);
        let id = self.call_id.0.into_owned();
        let mut kinds = vec![(0, Kind::Result { id, tool: String::new(), text, outcome, held })];
        kinds.extend(others);
        kinds
    }

    fn chat_result(self) -> Kind {
        let (text, outcome) = outcome_of(self.content.into_text());
        let held = held(&text);
        Kind::Result { id: self.tool_call_id.0.into_owned(), tool: String::new(), text, outcome, held }
    }

    fn tools_found(self) -> Kind {
        Kind::Result {
            id: self.call_id.0.into_owned(),
            tool: "tool_search".to_owned(),
            text: self.tools.map_or("[]", RawValue::get).to_owned(),
            outcome: CallOutcome::Unsaid,
            held: HeldContent::Whole,
        }
    }

    fn unknown(self, from: ItemSource<'_>) -> Kind {
        let json = locate(from.text, from.pointer).map(|span| from.text[span].to_owned()).unwrap_or_default();
        Kind::Other { name: self.kind.0.into_owned(), json }
    }
}

/// A tool's full name, with the namespace that the tools of one server share.
fn tool_name(namespace: &str, name: &str) -> String {
    match namespace.trim_end_matches('_') {
        "" => name.to_owned(),
        namespace => format!("{namespace}__{name}"),
    }
}

/// The JSON that Codex wraps a command's output in.
#[derive(Deserialize)]
struct Wrapped {
    output: String,
    metadata: WrappedMetadata,
}

#[derive(Deserialize)]
struct WrappedMetadata {
    exit_code: i64,
}

/// The text of a result without its wrapper, and whether the call succeeded, as far as the text says.
pub(crate) fn outcome_of(text: String) -> (String, CallOutcome) {
    let by_code = |code: i64| if code == 0 { CallOutcome::Succeeded } else { CallOutcome::Failed };
    if text.starts_with('{') {
        return match serde_json::from_str::<Wrapped>(&text) {
            Ok(wrapped) => (wrapped.output, by_code(wrapped.metadata.exit_code)),
            Err(_) => (text, CallOutcome::Unsaid),
        };
    }
    // The client's own lines come first and are few. Later lines are the command's output, which may look the same.
    let marks = ["Exit code: ", "Process exited with code "];
    let code = text.lines().take(6).take_while(|line| *line != "Output:").find_map(|line| {
        marks.iter().find_map(|mark| line.strip_prefix(mark)).and_then(|code| code.trim().parse().ok())
    });
    (text, code.map_or(CallOutcome::Unsaid, by_code))
}
