//! Finds the words that the model sees of an attachment in a line of Claude Code.
//!
//! Newer versions record these words. For older versions they are put together from the attachment's fields; each kind
//! of attachment has its text under one of a few names.

use infold_core::transcript::Voice;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::ClaudeLine;
use crate::client_words::voice_of;

/// Kinds of attachments that only the person or the client sees.
const UNSEEN: [&str; 3] = ["prompt_snapshot", "hook_system_message", "command_permissions"];
/// The fields that can hold the text, the likeliest first.
const TEXT_FIELDS: [&str; 6] = ["content", "snippet", "prompt", "text", "addedLines", "addedBlocks"];

/// The words of an attachment and who said them; `None` if the model sees nothing of it.
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
    // A queued command is what the person typed while the agent worked. The model sees it with words of the client
    // around it; only the person's own words are taken here.
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

/// The text in a field: a string, the strings in a list, or the text inside an object.
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
