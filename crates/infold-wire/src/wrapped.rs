//! Calls inside calls: a client may keep other servers' tools out of its list and have the model call them through one
//! tool of its own. Qwen Code does, with `tool_call` and the tool's name in the arguments.

use infold_core::ToolEffect;
use serde::Deserialize;
use serde_json::Value;

/// The tool that other tools are called through.
const WRAPPER: &str = "tool_call";
/// The tool that says which there are.
pub(crate) const SEARCH: &str = "tool_search";
/// What each tool that was found stands between.
const FOUND: (&str, &str) = ("<function>", "</function>");

/// What a wrapping call is made with.
#[derive(Deserialize)]
struct Wrapped {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// The tool and the arguments that a call of a client's wrapping tool is really made with, if the tool is one of ours.
pub fn unwrapped(tool: &str, arguments: &str) -> Option<(String, String)> {
    if tool != WRAPPER {
        return None;
    }
    let Wrapped { name, arguments } = serde_json::from_str(arguments).ok()?;
    ToolEffect::of(&name)?;
    let arguments = match arguments {
        Value::Null => "{}".to_owned(),
        // Some models write the arguments down as a text once more.
        Value::String(text) => text,
        other => other.to_string(),
    };
    Some((name, arguments))
}

/// The names of the tools that a search has found, from what it printed.
pub(crate) fn found(printed: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct WrappedName {
        name: String,
    }
    let after = printed.split(FOUND.0).skip(1);
    let each = after.filter_map(|rest| rest.split_once(FOUND.1).map(|(json, _)| json));
    each.filter_map(|json| serde_json::from_str(json).ok()).map(|WrappedName { name }| name).collect()
}

#[cfg(test)]
mod tests;
