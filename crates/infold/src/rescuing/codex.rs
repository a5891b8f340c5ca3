//! Codex's rollouts: which lines it would load on resume, and the lines that it loads instead.
//!
//! Lines count in their order, from the latest compaction on, less what was rolled back. What the model
//! sees are the items; of the rest only that is taken over which shows the conversation and its settings.
//! Figures of usage are left out: they are of requests that the new session never made, and the
//! client would take them for its own and compact at once.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::original::Span;
use super::splice::Splice;
use super::{Edit, Live, NewSession};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Meta,
    /// Holds what is left of what was before it.
    Compacted(Holds),
    Item,
    Settings,
    Note,
}

/// What the line of a compaction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// All that is left of what was before.
    Everything,
    /// A summary; the client adds the user's own messages again.
    Summary,
}

/// The lines of a recording that count.
#[derive(Debug, Default)]
pub struct Survey {
    lines: Vec<(Live, Kind)>,
    /// Where each of the user's turns begins among the lines.
    turns: Vec<usize>,
    user_item: Option<usize>,
    /// The settings that were in force before the latest compaction.
    settings: Option<Live>,
    /// The session's id.
    pub session: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
}

impl Survey {
    /// Takes in a line.
    pub fn look(&mut self, number: u64, span: Span, text: &str) {
        let line = Splice::new(text);
        let string = |path: &[&str]| -> Option<String> { serde_json::from_str(line.get(path)?).ok() };
        let live = Live { number, span };
        let payload_type = string(&["payload", "type"]);
        match (string(&["type"]).as_deref(), payload_type.as_deref()) {
            (Some("session_meta"), _) if self.session.is_none() => {
                self.session = string(&["payload", "id"]);
                self.lines.push((live, Kind::Meta));
            }
            (Some("compacted"), _) => {
                let history = line.get(&["payload", "replacement_history"]);
                self.compacted(live, if history.is_some() { Holds::Everything } else { Holds::Summary });
            }
            (Some("response_item"), kind) => {
                if kind == Some("message") && string(&["payload", "role"]).as_deref() == Some("user") {
                    self.user_item = Some(self.lines.len());
                }
                self.lines.push((live, Kind::Item));
            }
            (Some("turn_context"), _) => {
                self.model = string(&["payload", "model"]).or(self.model.take());
                self.settings = Some(live);
                self.lines.push((live, Kind::Settings));
            }
            (Some("world_state"), _) => self.lines.push((live, Kind::Note)),
            (Some("event_msg"), Some("thread_rolled_back")) => {
                let turns = line.get(&["payload", "num_turns"]).and_then(|turns| turns.parse().ok());
                self.roll_back(turns.unwrap_or(0));
            }
            (Some("event_msg"), Some(kind)) => {
                let item = string(&["payload", "item", "type"]);
                self.event(live, kind, item.as_deref());
            }
            _ => {}
        }
    }

    fn event(&mut self, live: Live, kind: &str, item: Option<&str>) {
        let is_users = kind == "user_message" || (kind == "item_completed" && item == Some("UserMessage"));
        let is_shown = is_users
            || ["agent_message", "task_started", "task_complete", "turn_aborted"].contains(&kind)
            || (kind == "item_completed" && item == Some("AgentMessage"));
        if is_users && let Some(item) = self.user_item.take() {
            self.turns.push(item);
        }
        if is_shown {
            self.lines.push((live, Kind::Note));
        }
    }

    /// A compaction: what it holds stands for everything before. An old one holds only a summary, and
    /// the client adds the user's own messages again: those that stand in lines of their own, and
    /// those that an earlier compaction holds.
    fn compacted(&mut self, live: Live, holds: Holds) {
        let turns: HashSet<usize> = std::mem::take(&mut self.turns).into_iter().collect();
        for (at, line) in std::mem::take(&mut self.lines).into_iter().enumerate() {
            if holds == Holds::Summary && turns.contains(&at) {
                // The next compaction adds it again, too.
                self.turns.push(self.lines.len());
                self.lines.push(line);
            } else if line.1 == Kind::Meta || (holds == Holds::Summary && line.1 == Kind::Compacted(Holds::Everything))
            {
                self.lines.push(line);
            }
        }
        self.user_item = None;
        self.lines.push((live, Kind::Compacted(holds)));
    }

    fn roll_back(&mut self, turns: usize) {
        let left = self.turns.len().saturating_sub(turns);
        if let Some(from) = self.turns.get(left) {
            self.lines.truncate(*from);
            self.turns.truncate(left);
        }
    }

    /// The lines that count, in their order.
    pub fn live(&self) -> Vec<Live> {
        let mut live: Vec<Live> = self.lines.iter().map(|(live, _)| *live).collect();
        let has_settings = self.lines.iter().any(|(_, kind)| *kind == Kind::Settings);
        let settings = self.settings.filter(|_| !has_settings);
        let behind_meta = usize::from(self.lines.first().is_some_and(|(_, kind)| *kind == Kind::Meta));
        live.splice(behind_meta..behind_meta, settings);
        live
    }
}

/// Which items of a line could have another text in their place.
pub fn editable(text: &str) -> Vec<bool> {
    let is_editable = |item: &str| {
        let value = key_of_call(item).and_then(|key| Splice::new(item).get(&[key]));
        value.is_some_and(|value| value.starts_with('"'))
    };
    items(&Splice::new(text)).into_iter().map(is_editable).collect()
}

/// Under which key the text of a call or of its result stands.
fn key_of_call(item: &str) -> Option<&'static str> {
    match Splice::new(item).get(&["type"])? {
        "\"function_call\"" => Some("arguments"),
        "\"custom_tool_call\"" => Some("input"),
        "\"function_call_output\"" | "\"custom_tool_call_output\"" => Some("output"),
        _ => None,
    }
}

/// The line as it stands in the new file, or `None` if nothing of it is left.
pub fn rewrite(text: &str, edits: &[(u32, Edit)], session: &NewSession, ordinal: u64) -> Option<String> {
    let mut splice = Splice::new(text);
    let kind = splice.get(&["type"]).unwrap_or_default();
    let is_compaction = kind == "\"compacted\"";
    let dropped = Edit::dropped(edits);
    if is_compaction {
        splice.retain(&["payload", "replacement_history"], |at| !dropped.contains(&at));
        splice.retain(&["payload", "replacement_history_metadata"], |at| !dropped.contains(&at));
        splice.set(&["payload", "latest_token_usage_record"], "null");
    } else if !dropped.is_empty() {
        return None;
    }
    let items = items(&splice);
    for (part, edit) in edits {
        match edit {
            Edit::Drop => {}
            Edit::Result(text) | Edit::Input(text) => {
                let item = items.get(if is_compaction { *part as usize } else { 0 });
                if let Some((item, key)) = item.and_then(|item| Some((item, key_of_call(item)?))) {
                    splice.set_in(item, &[key], json!(text).to_string());
                }
            }
        }
    }
    splice.set(&["ordinal"], ordinal.to_string());
    if kind != "\"response_item\"" {
        for path in id_paths(text, &session.old_id) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            splice.set(&path, json!(session.id).to_string());
        }
    }
    Some(splice.finish())
}

/// Where the old session's id stands, in what is not part of the conversation.
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

/// The items of a line: its own, or those that a compaction holds.
fn items<'a>(splice: &Splice<'a>) -> Vec<&'a str> {
    match splice.get(&["type"]) {
        Some("\"compacted\"") => splice.elements(&["payload", "replacement_history"]).unwrap_or_default(),
        _ => splice.get(&["payload"]).into_iter().collect(),
    }
}

/// A new line that tells the model something, with its time taken from `like`.
pub fn told(text: &str, ordinal: Option<u64>, like: &str) -> String {
    let timestamp: Value =
        Splice::new(like).get(&["timestamp"]).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let content = json!([{"type": "input_text", "text": text}]);
    let payload = json!({"type": "message", "role": "user", "content": content});
    let mut line = json!({"timestamp": timestamp});
    if let Some(ordinal) = ordinal {
        line["ordinal"] = json!(ordinal);
    }
    line["type"] = json!("response_item");
    line["payload"] = payload;
    line.to_string()
}

/// Whether a line holds what a compaction left.
pub fn is_compaction(text: &str) -> bool {
    Splice::new(text).get(&["type"]) == Some("\"compacted\"")
}

/// Whether a line is of an answer.
pub fn is_answer(text: &str) -> bool {
    let line = Splice::new(text);
    let is_item = line.get(&["type"]) == Some("\"response_item\"");
    is_item && line.get(&["payload", "role"]) != Some("\"user\"")
}

/// Whether a line is numbered.
pub fn is_numbered(text: &str) -> bool {
    Splice::new(text).get(&["ordinal"]).is_some()
}
