//! Rewrites lines of Claude Code for the new recording.
//!
//! The new lines form a simple chain, which the client can read without repairing anything. Their token counts are set
//! to zero: they belong to requests that the new session never made, and the client would take them for its own and
//! compact at once.

use serde_json::json;

use super::{LineEdit, LineTraits};
use crate::json_text::{JsonText, members};

#[cfg(test)]
mod tests;

/// The value of `usage` in the new lines.
const NO_USAGE: &str =
    r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#;

/// Finds out what the blocks of a line have in common.
pub(super) fn traits(text: &str) -> LineTraits {
    let line = JsonText::new(text);
    let noted = |name: &'static str| line.get(&["attachment", name]);
    let is_prompt = || noted("commandMode").is_none_or(|mode| mode == "\"prompt\"");
    LineTraits {
        is_indivisible: !line.get(&["message", "content"]).is_some_and(|content| content.starts_with('[')),
        is_typed: noted("type") == Some("\"queued_command\"") && is_prompt(),
        is_models: line.get(&["type"]) == Some("\"assistant\""),
        is_clients: line.get(&["isMeta"]) == Some("true"),
        holds_messages: false,
        editable: line.elements(&["message", "content"]).unwrap_or_default().into_iter().map(is_editable).collect(),
    }
}

fn is_editable(block: &str) -> bool {
    let block = JsonText::new(block);
    match block.get(&["type"]) {
        Some("\"tool_use\"") => true,
        // A result that also has an image, for example, could not be read back as text.
        Some("\"tool_result\"") => match block.elements(&["content"]) {
            Some(blocks) => blocks.iter().all(|block| JsonText::new(block).get(&["type"]) == Some("\"text\"")),
            None => block.get(&["content"]).is_some_and(|content| content.starts_with('"')),
        },
        _ => false,
    }
}

/// Rewrites a line for the new recording; `None` if nothing of it is left.
pub(super) fn rewrite(text: &str, edits: &[(u32, LineEdit)], session_id: &str, parent: Option<&str>) -> Option<String> {
    let mut line = JsonText::new(text);
    let content = ["message", "content"];
    let dropped = LineEdit::dropped(edits);
    let has_content = line.get(&content).is_some();
    let blocks = line.elements(&content);
    // Content that is not a list counts as one block.
    let count = blocks.as_ref().map_or(1, Vec::len);
    if (0..count).all(|at| dropped.contains(&at)) || (!has_content && !edits.is_empty()) {
        return None;
    }
    if !dropped.is_empty() {
        line.retain(&content, |at| !dropped.contains(&at));
    }
    let blocks = blocks.unwrap_or_default();
    for (part, edit) in edits {
        let Some(block) = blocks.get(*part as usize) else { continue };
        match edit {
            LineEdit::Drop => {}
            LineEdit::Result(text) => line.set_in(block, &["content"], json!(text).to_string()),
            LineEdit::Input(input) => line.set_in(block, &["input"], input.clone()),
        }
    }
    if edits.iter().any(|(_, edit)| matches!(edit, LineEdit::Result(_))) {
        // The client's own copy of the result, which it shows on the screen, is often longer than the result itself.
        line.set(&["toolUseResult"], json!("moved out of the context by infold").to_string());
    }
    line.set(&["message", "usage"], NO_USAGE);
    line.set(&["sessionId"], json!(session_id).to_string());
    line.set(&["parentUuid"], json!(parent).to_string());
    Some(line.finish())
}

/// The id of a line.
pub(super) fn uuid(text: &str) -> Option<String> {
    JsonText::new(text).string(&["uuid"])
}

/// Who a line of the receipt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// The model: the client sends the line and does not show it.
    Model,
    /// The person: the client shows the line and does not send it.
    User,
}

/// A new line with the receipt.
pub(super) struct ReceiptLine<'a> {
    pub(super) audience: Audience,
    pub(super) text: &'a str,
    pub(super) uuid: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) session_id: &'a str,
}

impl ReceiptLine<'_> {
    /// Writes the line. The fields that the client writes on every line are copied from `like`.
    pub(super) fn line(&self, like: &str) -> String {
        let Self { audience, text, uuid, parent, session_id } = self;
        let mut line = match audience {
            Audience::Model => json!({
                "parentUuid": parent, "isSidechain": false, "type": "user",
                "message": {"role": "user", "content": text}, "isMeta": true,
            }),
            Audience::User => json!({
                "parentUuid": parent, "isSidechain": false, "type": "system", "subtype": "informational",
                "content": text, "isMeta": false, "level": "info",
            }),
        };
        line["uuid"] = json!(uuid);
        line["sessionId"] = json!(session_id);
        for (key, value) in members(like) {
            let key = key.as_str();
            if ["timestamp", "userType", "entrypoint", "cwd", "version", "gitBranch", "slug"].contains(&key) {
                line[key] = serde_json::from_str(value.get()).unwrap_or_default();
            }
        }
        line.to_string()
    }
}
