//! Rewrites lines of a Codex rollout for the new recording, and says what each line is for when a session is resumed.
//!
//! The model sees the items. Of the other lines, only those are copied that show the conversation to the person or hold
//! settings. Token counts are left out: they belong to requests that the new session never made, and the client would
//! take them for its own and compact at once.

use serde_json::{Value, json};

use super::{LineEdit, LineTraits, NewSession};
use crate::json_text::JsonText;

#[cfg(test)]
mod tests;

/// What a line is for when a session is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineRole {
    /// It names the session.
    Session,
    /// It holds something that the model sees.
    Item,
    /// It holds the settings of a turn.
    Settings,
    /// It shows the conversation to the person.
    Shown,
    /// It is not needed.
    None,
}

impl LineRole {
    pub(super) fn of(text: &str) -> Self {
        let line = JsonText::new(text);
        match line.string(&["type"]).as_deref() {
            Some("session_meta") => Self::Session,
            Some("response_item" | "compacted") => Self::Item,
            Some("turn_context") => Self::Settings,
            Some("world_state") => Self::Shown,
            Some("event_msg") => match line.string(&["payload", "type"]).as_deref() {
                Some("user_message" | "agent_message" | "task_started" | "task_complete" | "turn_aborted") => {
                    Self::Shown
                }
                Some("item_completed") => match line.string(&["payload", "item", "type"]).as_deref() {
                    Some("UserMessage" | "AgentMessage") => Self::Shown,
                    _ => Self::None,
                },
                _ => Self::None,
            },
            _ => Self::None,
        }
    }
}

/// The id of the session, from the line that names it.
pub(super) fn session_id(text: &str) -> Option<String> {
    JsonText::new(text).string(&["payload", "id"])
}

/// Whether a compaction lists all items that replace what was before it.
pub(super) fn lists_what_is_left(text: &str) -> bool {
    JsonText::new(text).get(&["payload", "replacement_history"]).is_some()
}

/// Finds out what the items of a line have in common.
pub(super) fn traits(text: &str) -> LineTraits {
    let line = JsonText::new(text);
    let is_compaction = line.get(&["type"]) == Some("\"compacted\"");
    let is_item = line.get(&["type"]) == Some("\"response_item\"");
    LineTraits {
        is_indivisible: !is_compaction,
        is_typed: false,
        is_models: is_item && line.get(&["payload", "role"]) != Some("\"user\""),
        is_clients: false,
        holds_messages: is_compaction,
        editable: items(&line).into_iter().map(is_editable).collect(),
    }
}

/// Whether another text could replace the text of an item.
fn is_editable(item: &str) -> bool {
    let value = key_of_call(item).and_then(|key| JsonText::new(item).get(&[key]));
    value.is_some_and(|value| value.starts_with('"'))
}

/// The field that holds the text of a call or of its result; `None` for other items.
fn key_of_call(item: &str) -> Option<&'static str> {
    match JsonText::new(item).get(&["type"])? {
        "\"function_call\"" => Some("arguments"),
        "\"custom_tool_call\"" => Some("input"),
        "\"function_call_output\"" | "\"custom_tool_call_output\"" => Some("output"),
        _ => None,
    }
}

/// Rewrites a line for the new recording; `None` if nothing of it is left.
pub(super) fn rewrite(text: &str, edits: &[(u32, LineEdit)], session: &NewSession, ordinal: u64) -> Option<String> {
    let mut line = JsonText::new(text);
    let kind = line.get(&["type"]).unwrap_or_default();
    let is_compaction = kind == "\"compacted\"";
    let dropped = LineEdit::dropped(edits);
    if is_compaction {
        line.retain(&["payload", "replacement_history"], |at| !dropped.contains(&at));
        line.retain(&["payload", "replacement_history_metadata"], |at| !dropped.contains(&at));
        line.set(&["payload", "latest_token_usage_record"], "null");
    } else if !dropped.is_empty() {
        return None;
    }
    let items = items(&line);
    for (part, edit) in edits {
        match edit {
            LineEdit::Drop => {}
            LineEdit::Result(text) | LineEdit::Input(text) => {
                let item = items.get(if is_compaction { *part as usize } else { 0 });
                if let Some((item, key)) = item.and_then(|item| Some((item, key_of_call(item)?))) {
                    line.set_in(item, &[key], json!(text).to_string());
                }
            }
        }
    }
    line.set(&["ordinal"], ordinal.to_string());
    if kind != "\"response_item\"" {
        for path in id_paths(text, &session.old_id) {
            line.set(&path, json!(session.id).to_string());
        }
    }
    Some(line.finish())
}

/// The paths of all fields that hold the old session's id. The caller leaves out lines of the conversation, where such
/// a text could be anything.
fn id_paths(text: &str, old_id: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    if !text.contains(old_id) {
        return found;
    }
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let mut open: Vec<(Vec<String>, &Value)> = vec![(Vec::new(), &value)];
    while let Some((path, value)) = open.pop() {
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = [&path[..], std::slice::from_ref(key)].concat();
            let is_id = ["id", "session_id", "thread_id"].contains(&key.as_str());
            if is_id && value.as_str() == Some(old_id) {
                found.push(path);
            } else if value.is_object() {
                open.push((path, value));
            }
        }
    }
    found
}

/// The JSON of the items of a line: its payload, or the items that a compaction lists.
fn items<'a>(line: &JsonText<'a>) -> Vec<&'a str> {
    match line.get(&["type"]) {
        Some("\"compacted\"") => line.elements(&["payload", "replacement_history"]).unwrap_or_default(),
        _ => line.get(&["payload"]).into_iter().collect(),
    }
}

/// A new line that says something to the model. Its time, and whether it has a number, are copied from `like`.
pub(super) fn note(text: &str, ordinal: u64, like: &str) -> String {
    let like = JsonText::new(like);
    let timestamp: Value =
        like.get(&["timestamp"]).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let mut line = json!({"timestamp": timestamp});
    if like.get(&["ordinal"]).is_some() {
        line["ordinal"] = json!(ordinal);
    }
    line["type"] = json!("response_item");
    let content = json!([{"type": "input_text", "text": text}]);
    line["payload"] = json!({"type": "message", "role": "user", "content": content});
    line.to_string()
}
