//! A line of Claude Code's, and the line that stands for it in the new recording.
//!
//! The new lines form a plain chain, which the client reads without having to mend anything. Their
//! figures of usage are set to nothing: they are of requests that the new session never made, and the
//! client would take them for its own and compact at once.

use serde_json::json;

use super::Block;
use crate::rescuing::splice::{Splice, fields};
use crate::rescuing::{Edit, NewSession};

/// What stands for `usage` in the new lines.
const NO_USAGE: &str =
    r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#;

/// Which blocks of a line could have another text in their place.
pub fn editable(text: &str) -> Vec<bool> {
    let is_editable = |block: &str| {
        let block = Splice::new(block);
        match block.get(&["type"]) {
            Some("\"tool_use\"") => true,
            // What a result shows beside text, such as an image, could not be read back as text.
            Some("\"tool_result\"") => block.get(&["content"]).is_some_and(is_text),
            _ => false,
        }
    };
    let blocks = Splice::new(text).elements(&["message", "content"]);
    blocks.unwrap_or_default().into_iter().map(is_editable).collect()
}

fn is_text(content: &str) -> bool {
    match serde_json::from_str::<Vec<Block>>(content) {
        Ok(blocks) => blocks.iter().all(|block| block.kind == "text"),
        Err(_) => content.starts_with('"'),
    }
}

/// The line as it stands in the new file, or `None` if nothing of it is left.
pub fn rewrite(text: &str, edits: &[(u32, Edit)], session: &NewSession, parent: Option<&str>) -> Option<String> {
    let mut splice = Splice::new(text);
    let content = ["message", "content"];
    let dropped = Edit::dropped(edits);
    let has_content = splice.get(&content).is_some();
    let blocks = splice.elements(&content);
    // What is no list of blocks is one block.
    let count = blocks.as_ref().map_or(1, Vec::len);
    if (0..count).all(|at| dropped.contains(&at)) || (!has_content && !edits.is_empty()) {
        return None;
    }
    if !dropped.is_empty() {
        splice.retain(&content, |at| !dropped.contains(&at));
    }
    let blocks = blocks.unwrap_or_default();
    for (part, edit) in edits {
        let Some(block) = blocks.get(*part as usize) else { continue };
        match edit {
            Edit::Drop => {}
            Edit::Result(text) => splice.set_in(block, &["content"], json!(text).to_string()),
            Edit::Input(input) => splice.set_in(block, &["input"], input.clone()),
        }
    }
    if edits.iter().any(|(_, edit)| matches!(edit, Edit::Result(_))) {
        // The client's own copy, for the screen, is often longer than the result itself.
        splice.set(&["toolUseResult"], json!("moved out of the context by infold").to_string());
    }
    splice.set(&["message", "usage"], NO_USAGE);
    splice.set(&["sessionId"], json!(session.id).to_string());
    splice.set(&["parentUuid"], json!(parent).to_string());
    Some(splice.finish())
}

/// Whether a line is made of blocks, of which some can go and others stay.
pub fn has_blocks(text: &str) -> bool {
    Splice::new(text).get(&["message", "content"]).is_some_and(|content| content.starts_with('['))
}

/// Whether a line is a note of what the person typed while the agent was at work.
pub fn is_typed(text: &str) -> bool {
    let note = Splice::new(text);
    let field = |name: &'static str| note.get(&["attachment", name]);
    field("type") == Some("\"queued_command\"") && field("commandMode").is_none_or(|mode| mode == "\"prompt\"")
}

/// Whether a line says that the client put it in on its own account.
pub fn is_clients(text: &str) -> bool {
    Splice::new(text).get(&["isMeta"]) == Some("true")
}

/// Whether a line is of an answer.
pub fn is_answer(text: &str) -> bool {
    Splice::new(text).get(&["type"]) == Some("\"assistant\"")
}

/// A line's own id.
pub fn uuid(text: &str) -> Option<String> {
    Splice::new(text).get(&["uuid"]).and_then(|json| serde_json::from_str(json).ok())
}

/// A line that tells the model, and is not shown, or one that is shown and not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The model.
    Model,
    /// The user.
    User,
}

/// A new line, with what the client writes on every line taken from `like`.
pub fn told(whom: Told, text: &str, uuid: &str, parent: Option<&str>, session: &NewSession, like: &str) -> String {
    let mut line = match whom {
        Told::Model => json!({
            "parentUuid": parent, "isSidechain": false, "type": "user",
            "message": {"role": "user", "content": text}, "isMeta": true,
        }),
        Told::User => json!({
            "parentUuid": parent, "isSidechain": false, "type": "system", "subtype": "informational",
            "content": text, "isMeta": false, "level": "info",
        }),
    };
    line["uuid"] = json!(uuid);
    line["sessionId"] = json!(session.id);
    for (key, value) in fields(like).unwrap_or_default() {
        if ["timestamp", "userType", "entrypoint", "cwd", "version", "gitBranch", "slug"].contains(&key.as_str()) {
            line[key] = serde_json::from_str(value.get()).unwrap_or_default();
        }
    }
    line.to_string()
}
