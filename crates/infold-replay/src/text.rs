//! Finds the texts in calls that are compared with what was visible: the arguments, and the old text of an edit.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// The readable text of arguments that were cut short and are no longer JSON. [`infold_core::plain_arguments`] does the
/// same for whole ones.
pub(crate) fn of_cut_arguments(input: &str) -> String {
    input.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"")
}

/// The text that an edit replaces; `None` if the call is not an edit.
pub(crate) fn old_of_edit(input: &str) -> Option<String> {
    let value = serde_json::from_str::<Value>(input).ok();
    let Some(Value::Object(fields)) = &value else { return old_of_patch(input) };

    let edits = fields.get("edits").and_then(Value::as_array).into_iter().flatten();
    let olds: Vec<&str> = fields
        .get("old_string")
        .into_iter()
        .chain(edits.filter_map(|edit| edit.get("old_string")))
        .filter_map(Value::as_str)
        .collect();
    if !olds.is_empty() {
        return Some(olds.join("\n"));
    }

    ["input", "patch", "cmd", "command"].iter().find_map(|name| match fields.get(*name)? {
        Value::String(text) => old_of_patch(text),
        Value::Array(words) => words.iter().filter_map(Value::as_str).find_map(old_of_patch),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    })
}

/// The lines that a patch removes, and those around them that it has as context; `None` if the text is no patch.
fn old_of_patch(text: &str) -> Option<String> {
    if !text.contains("*** Begin Patch") {
        return None;
    }
    let mut old = String::new();
    let mut in_update = false;
    for line in text.split('\n') {
        if line.starts_with("***") {
            in_update = line.starts_with("*** Update File");
        } else if in_update && let Some(line) = line.strip_prefix(['-', ' ']) {
            old.push_str(line);
            old.push('\n');
        }
    }
    Some(old)
}
