//! `infold hook`: what Claude Code asks before it writes a file.
//!
//! A secret that infold has taken out of a result stands there as a placeholder. A model that writes the
//! result back would overwrite the secret with its mask; so a write that holds a placeholder is refused,
//! with the reason. Anything else is not infold's business, and nothing is said.

use std::io::{self, Read};

use infold_core::placeholders;
use serde_json::{Value, json};

use crate::output::Output;

/// Longest question that is read. A write is never longer than a request.
const QUESTION_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Fields that say what is in a file already.
const BEFORE: [&str; 2] = ["old_string", "old_source"];

/// Answers the question on standard input.
pub fn run(output: &Output) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(QUESTION_BYTES_MAX).read_to_end(&mut bytes)?;
    if let Some(placeholder) = placeholder_in(&bytes) {
        output.text(&format!("{}\n", refusal(&placeholder)))?;
    }
    Ok(())
}

/// The first placeholder that would be written.
fn placeholder_in(question: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Value>(question) {
        Ok(question) => written(&question["tool_input"]),
        // What cannot be read is looked through as it is: better one refusal too many than a lost secret.
        Err(_) => placeholders(&String::from_utf8_lossy(question)).next().map(str::to_owned),
    }
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => placeholders(text).next().map(str::to_owned),
        Value::Array(values) => values.iter().find_map(written),
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| !BEFORE.contains(&name.as_str())).find_map(|(_, value)| written(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn refusal(placeholder: &str) -> Value {
    let reason = format!(
        "infold refused this write: it holds {placeholder}, which stands for a secret that infold keeps out of \
         your sight. Writing it would put the placeholder in the secret's place. Change only the lines around it, \
         with an edit that does not contain it, or ask the user to write the secret."
    );
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }})
}

#[cfg(test)]
mod tests;
