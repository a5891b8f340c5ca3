//! What the model is shown of an attachment.
//!
//! Newer versions record the very words; for older ones they are put together from the attachment's fields, in
//! which each kind of attachment keeps its text under one of a few names.

use infold_core::transcript::Voice;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::ClaudeLine;
use crate::client_words::voice_of;

/// Kinds that only the person or the program sees.
const UNSEEN: [&str; 3] = ["prompt_snapshot", "hook_system_message", "command_permissions"];
/// Where kinds keep their text.
const TEXT_FIELDS: [&str; 6] = ["content", "snippet", "prompt", "text", "addedLines", "addedBlocks"];

/// The words of an attachment and whose they are, if the model sees any.
pub(crate) fn words(line: &ClaudeLine<'_>) -> Option<(String, Voice)> {
    let rendered: Vec<String> = line
        .rendered
        .0
        .iter()
        .flat_map(|rendered| match &rendered.content {
            crate::content::Content::Absent => Vec::new(),
            crate::content::Content::Text(text) => vec![text.clone()],
            crate::content::Content::Blocks(blocks) => {
                blocks.iter().filter_map(|block| block.words().map(str::to_owned)).collect()
            }
        })
        .collect();
    let fields: Value =
        line.attachment.map(RawValue::get).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let kind = fields["type"].as_str().unwrap_or_default();
    let text = TEXT_FIELDS.iter().find_map(|field| text_in(&fields[*field]));
    // A command that waited its turn is what the person typed while the agent was at work. The model gets to see it
    // with the client's words around it; the person's alone are what is theirs.
    let is_typed = kind == "queued_command" && fields["commandMode"].as_str().is_none_or(|mode| mode == "prompt");
    if let (true, Some(text)) = (is_typed, &text) {
        return Some((text.clone(), voice_of(text)));
    }
    if !rendered.is_empty() {
        return Some((rendered.join("\n"), Voice::Client));
    }
    if UNSEEN.contains(&kind) {
        return None;
    }
    Some((text?, Voice::Client))
}

/// The text in a field: itself, its elements, or what it wraps.
fn text_in(field: &Value) -> Option<String> {
    let text = match field {
        Value::String(text) => text.clone(),
        Value::Array(elements) => elements.iter().filter_map(text_in).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            return ["content", "text", "file"].iter().find_map(|key| text_in(members.get(*key)?));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    if text.is_empty() { None } else { Some(text) }
}
