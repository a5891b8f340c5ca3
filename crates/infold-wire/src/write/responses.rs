//! Writes a transcript as the items of a request to OpenAI's Responses API.

use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Transcript};
use serde::Serialize;
use serde_json::value::RawValue;

use super::pairs::{is_beside, paired};
use super::{Losses, Written, is_object, json};
use crate::forms::outcome_of;

/// The kinds of content other than text that are written as they are.
const PARTS: [&str; 2] = ["input_image", "input_file"];

#[derive(Serialize)]
struct ResponsesBody<'a> {
    input: Vec<ApiItem<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ApiItem<'a> {
    Message { role: &'static str, content: Vec<ResponsesPart<'a>> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: Output<'a> },
    CustomToolCall { call_id: &'a str, name: &'a str, input: &'a str },
    CustomToolCallOutput { call_id: &'a str, output: Output<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<ResponsesPart<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesPart<'a> {
    Text(TextPart<'a>),
    Raw(&'a RawValue),
}

#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

/// Writes a transcript as `{input}`, a list of items in which every call has an output.
pub fn write_openai(transcript: &Transcript) -> Written {
    let mut losses = Losses::default();
    let items = paired(&transcript.items, &mut losses);
    let mut custom: Vec<&str> = Vec::new();
    let mut input: Vec<ApiItem<'_>> = Vec::with_capacity(items.len());
    let mut last: Option<(&'static str, u64)> = None;
    let mut result: Option<ItemPosition> = None;
    for item in items {
        if is_beside(item, result) {
            beside(&mut input, item, &mut losses);
            continue;
        }
        let Some((role, part)) = part(item, &mut losses) else {
            if let Some(written) = call_or_result(item, &mut custom, &mut losses) {
                result = matches!(item.kind, Kind::Result { .. }).then_some(item.place);
                input.push(written);
            }
            last = None;
            continue;
        };
        match input.last_mut() {
            Some(ApiItem::Message { content, .. }) if last == Some((role, item.message)) => content.push(part),
            _ => input.push(ApiItem::Message { role, content: vec![part] }),
        }
        last = Some((role, item.message));
    }
    Written { text: json(&ResponsesBody { input }), losses: losses.into_list() }
}

/// An item as part of a message, and the role of that message; `None` for items that are not in messages.
fn part<'a>(item: &'a Item, losses: &mut Losses) -> Option<(&'static str, ResponsesPart<'a>)> {
    let (role, kind) = match &item.kind {
        Kind::System { .. } => ("developer", "input_text"),
        Kind::User { .. } => ("user", "input_text"),
        Kind::Assistant { .. } => ("assistant", "output_text"),
        Kind::Compaction { summary: Some(_), .. } => {
            losses.add(item, "that a summary is one: it is written as a user message");
            ("user", "input_text")
        }
        Kind::Other { name, json } if PARTS.contains(&name.as_str()) => {
            return serde_json::from_str(json).ok().map(|raw| ("user", ResponsesPart::Raw(raw)));
        }
        Kind::Other { .. }
        | Kind::Compaction { summary: None, .. }
        | Kind::Reasoning { .. }
        | Kind::Call { .. }
        | Kind::Result { .. }
        | Kind::Clearing { .. } => return None,
    };
    Some((role, ResponsesPart::Text(TextPart { kind, text: item.text() })))
}

/// The API's item for a call or a result; other items are added to the losses.
fn call_or_result<'a>(item: &'a Item, custom: &mut Vec<&'a str>, losses: &mut Losses) -> Option<ApiItem<'a>> {
    match &item.kind {
        Kind::Call { id, tool, input } if is_object(input) => {
            Some(ApiItem::FunctionCall { call_id: id, name: tool, arguments: input })
        }
        Kind::Call { id, tool, input } => {
            custom.push(id);
            Some(ApiItem::CustomToolCall { call_id: id, name: tool, input })
        }
        Kind::Result { id, text, outcome, held, .. } => {
            if *held == HeldContent::Cleared && text != item.text() {
                losses.add(item, "text of results that were cleared");
            }
            if *outcome != CallOutcome::Unsaid && outcome_of(item.text().to_owned()).1 != *outcome {
                losses.add(item, "how calls went, where their text does not say");
            }
            let output = Output::Text(item.text());
            Some(match custom.contains(&id.as_str()) {
                true => ApiItem::CustomToolCallOutput { call_id: id, output },
                false => ApiItem::FunctionCallOutput { call_id: id, output },
            })
        }
        Kind::Reasoning { .. } => lost(item, losses, "reasoning"),
        Kind::Clearing { .. } => lost(item, losses, "marks of when results were cleared"),
        Kind::Compaction { .. } => lost(item, losses, "compactions whose summary is sealed"),
        Kind::Other { name, .. } => lost(item, losses, &format!("content of the kind {name:?}")),
        Kind::System { .. } | Kind::User { .. } | Kind::Assistant { .. } => None,
    }
}

fn lost<'a>(item: &Item, losses: &mut Losses, what: &str) -> Option<ApiItem<'a>> {
    losses.add(item, what);
    None
}

/// Adds other content (an image, for example) to the output before it.
fn beside<'a>(input: &mut [ApiItem<'a>], item: &'a Item, losses: &mut Losses) {
    let Kind::Other { name, json } = &item.kind else { return };
    let output = match input.last_mut() {
        Some(ApiItem::FunctionCallOutput { output, .. } | ApiItem::CustomToolCallOutput { output, .. }) => output,
        _ => return,
    };
    let raw = serde_json::from_str(json).ok().filter(|_| PARTS.contains(&name.as_str()));
    let Some(raw) = raw else {
        losses.add(item, &format!("content of the kind {name:?}"));
        return;
    };
    if let Output::Text(text) = output {
        *output = Output::Parts(vec![ResponsesPart::Text(TextPart { kind: "input_text", text })]);
    }
    if let Output::Parts(parts) = output {
        parts.push(ResponsesPart::Raw(raw));
    }
}
