//! Writes a transcript as the messages of a request to Anthropic.

use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind, Transcript};
use serde::Serialize;
use serde_json::value::RawValue;

use super::pairs::{PairRole, PairedMessage, in_turns, is_beside, paired};
use super::{Losses, Written, is_object, json, object, safe};

/// The first message if the transcript begins with the model, because the API wants the user to begin.
const OPENING: &str = "[The session began before this point.]";
/// The kinds of content other than text that are written as they are.
const BLOCKS: [&str; 4] = ["image", "document", "search_result", ONLY_IN_RESULTS];
/// A kind of content that only results may have.
const ONLY_IN_RESULTS: &str = "tool_reference";

#[derive(Serialize)]
struct AnthropicBody<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicBlock<'a> {
    Plain(Typed<'a>),
    /// A block with the JSON that it was read from.
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<AnthropicBlock<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

/// Writes a transcript as `{system, messages}`: first all instructions, then messages in which user and model take
/// turns.
pub fn write_anthropic(transcript: &Transcript) -> Written {
    let mut losses = Losses::default();
    let (system, said): (Vec<&Item>, Vec<&Item>) =
        paired(&transcript.items, &mut losses).into_iter().partition(|item| matches!(item.kind, Kind::System { .. }));
    let said: Vec<&Item> = said.into_iter().filter(|item| is_carried(item, &mut losses)).collect();
    let mut messages: Vec<AnthropicMessage<'_>> =
        in_turns(&said).iter().map(|message| written(message, &mut losses)).filter(|m| !m.content.is_empty()).collect();
    if messages.first().is_some_and(|first| first.role == "assistant") {
        let content = vec![AnthropicBlock::Plain(Typed::Text { text: OPENING })];
        messages.insert(0, AnthropicMessage { role: "user", content });
    }
    let system = system.iter().map(|item| AnthropicBlock::Plain(Typed::Text { text: item.text() })).collect();
    Written { text: json(&AnthropicBody { system, messages }), losses: losses.into_list() }
}

/// Whether the form can carry an item; if not, the item is added to the losses.
fn is_carried(item: &Item, losses: &mut Losses) -> bool {
    let lost = match &item.kind {
        Kind::Reasoning { .. } => "reasoning",
        Kind::Clearing { .. } => "marks of when results were cleared",
        Kind::Compaction { summary: None, .. } => "compactions whose summary is sealed",
        Kind::Other { name, json } if !BLOCKS.contains(&name.as_str()) || !is_object(json) => {
            losses.add(item, &format!("content of the kind {name:?}"));
            return false;
        }
        Kind::User { text, .. } | Kind::Assistant { text } if text.trim().is_empty() => "empty text",
        Kind::Compaction { .. } => {
            losses.add(item, "that a summary is one: it is written as a user message");
            return true;
        }
        _ => return true,
    };
    losses.add(item, lost);
    false
}

fn written<'a>(message: &PairedMessage<'a>, losses: &mut Losses) -> AnthropicMessage<'a> {
    let mut content: Vec<AnthropicBlock<'a>> = Vec::with_capacity(message.items.len());
    let mut result = None;
    for item in &message.items {
        let block = match &item.kind {
            Kind::Call { id, tool, input } => {
                if !is_object(input) {
                    losses.add(item, "input that is no object: it is wrapped in one");
                }
                if safe(tool) != *tool || safe(id) != *id {
                    losses.add(item, "names and ids of calls with characters that Anthropic does not take");
                }
                AnthropicBlock::Plain(Typed::ToolUse { id: safe(id), name: safe(tool), input: object(input) })
            }
            Kind::Result { id, outcome, held, text, .. } => {
                result = Some(item.place);
                if *held == HeldContent::Cleared && text != item.text() {
                    losses.add(item, "text of results that were cleared");
                }
                let text = AnthropicBlock::Plain(Typed::Text { text: item.text() });
                let content = if item.text().is_empty() { Vec::new() } else { vec![text] };
                let is_error = match outcome {
                    CallOutcome::Unsaid => None,
                    CallOutcome::Succeeded => Some(false),
                    CallOutcome::Failed => Some(true),
                };
                AnthropicBlock::Plain(Typed::ToolResult { tool_use_id: safe(id), content, is_error })
            }
            Kind::Other { json, name } => match (serde_json::from_str(json), content.last_mut()) {
                (Ok(raw), Some(AnthropicBlock::Plain(Typed::ToolResult { content, .. })))
                    if is_beside(item, result) =>
                {
                    content.push(AnthropicBlock::Raw(raw));
                    continue;
                }
                (Ok(raw), _) if name != ONLY_IN_RESULTS => AnthropicBlock::Raw(raw),
                _ => {
                    losses.add(item, &format!("content of the kind {name:?}"));
                    continue;
                }
            },
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. } => AnthropicBlock::Plain(Typed::Text { text: item.text() }),
        };
        content.push(block);
    }
    let role = match message.role {
        PairRole::Model => "assistant",
        PairRole::User => "user",
    };
    AnthropicMessage { role, content }
}

#[cfg(test)]
mod tests;
