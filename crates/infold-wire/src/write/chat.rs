//! A transcript as the messages of a request to OpenAI's Chat Completions API.

use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind, Transcript};
use serde::Serialize;

use super::pairs::{PairRole, PairedMessage, in_turns, paired};
use super::{Losses, Written, json};
use crate::forms::outcome_of;

#[derive(Serialize)]
struct ChatBody<'a> {
    messages: Vec<ChatMessage<'a>>,
}

#[derive(Serialize, Default)]
struct ChatMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Option<ChatWords<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatCall<'a>>,
}

/// One text, or several that stay apart.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatWords<'a> {
    One(&'a str),
    Many(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
struct ChatPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ChatCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Writes a transcript as `{messages}` of Chat Completions: each call is followed by its own tool message.
pub fn write_openai_chat(transcript: &Transcript) -> Written {
    let mut losses = Losses::default();
    let items: Vec<&Item> =
        paired(&transcript.items, &mut losses).into_iter().filter(|item| is_carried(item, &mut losses)).collect();
    let mut messages = Vec::new();
    for message in in_turns(&items) {
        match message.role {
            PairRole::Model => messages.push(answer(&message)),
            PairRole::User => user(&message, &mut messages, &mut losses),
        }
    }
    Written { text: json(&ChatBody { messages }), losses: losses.into_list() }
}

fn is_carried(item: &Item, losses: &mut Losses) -> bool {
    match &item.kind {
        Kind::Reasoning { .. } => losses.add(item, "reasoning"),
        Kind::Clearing { .. } => losses.add(item, "marks of when results were cleared"),
        Kind::Compaction { summary: None, .. } => losses.add(item, "compactions whose summary is sealed"),
        Kind::Other { name, .. } => losses.add(item, &format!("content of the kind {name:?}")),
        Kind::Compaction { .. } => {
            losses.add(item, "that a summary is one: it is written as a user message");
            return true;
        }
        Kind::Result { text, held, outcome, .. } => {
            if *held == HeldContent::Cleared && text != item.text() {
                losses.add(item, "text of results that were cleared");
            }
            if *outcome != CallOutcome::Unsaid && outcome_of(item.text().to_owned()).1 != *outcome {
                losses.add(item, "how calls went, where their text does not say");
            }
            return true;
        }
        // An answer without words beside its calls has no content there, so empty words cannot be told from none.
        Kind::Assistant { text } if text.is_empty() => losses.add(item, "empty text"),
        Kind::System { .. } | Kind::User { .. } | Kind::Assistant { .. } | Kind::Call { .. } => return true,
    }
    false
}

fn answer<'a>(message: &PairedMessage<'a>) -> ChatMessage<'a> {
    let mut texts: Vec<&'a str> = Vec::new();
    let mut tool_calls = Vec::new();
    for item in &message.items {
        match &item.kind {
            Kind::Call { id, tool, input } => {
                let function = Function { name: tool, arguments: input };
                tool_calls.push(ChatCall { id, kind: "function", function });
            }
            _ => texts.push(item.text()),
        }
    }
    ChatMessage { role: "assistant", content: words(&texts), tool_calls, ..ChatMessage::default() }
}

/// Results, instructions and users' words, each with its own role.
fn user<'a>(message: &PairedMessage<'a>, messages: &mut Vec<ChatMessage<'a>>, losses: &mut Losses) {
    let mut said: Option<(&'static str, u64)> = None;
    let mut texts: Vec<&'a str> = Vec::new();
    for item in &message.items {
        let role = match &item.kind {
            Kind::Result { id, .. } => {
                let content = Some(ChatWords::One(item.text()));
                messages.push(ChatMessage { role: "tool", tool_call_id: Some(id), content, ..ChatMessage::default() });
                continue;
            }
            Kind::System { .. } => "system",
            Kind::User { .. } | Kind::Compaction { .. } => "user",
            _ => {
                losses.add(item, "content that is no text");
                continue;
            }
        };
        if let Some((before, number)) = said
            && (before != role || number != item.message)
        {
            messages.push(ChatMessage { role: before, content: words(&texts), ..ChatMessage::default() });
            texts.clear();
        }
        said = Some((role, item.message));
        texts.push(item.text());
    }
    if let Some((role, _)) = said {
        messages.push(ChatMessage { role, content: words(&texts), ..ChatMessage::default() });
    }
}

fn words<'a>(texts: &[&'a str]) -> Option<ChatWords<'a>> {
    match texts {
        [] => None,
        [text] => Some(ChatWords::One(text)),
        texts => Some(ChatWords::Many(texts.iter().map(|text| ChatPart { kind: "text", text }).collect())),
    }
}
