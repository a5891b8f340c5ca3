//! Unwraps calls inside calls. A client may leave other servers' tools out of its list and have the model call them
//! through one tool of its own. Qwen Code does so, with `tool_call` and the tool's name in the arguments.

use infold_core::ToolEffect;
use serde::Deserialize;
use serde_json::Value;

/// The tool through which other tools are called.
const WRAPPER: &str = "tool_call";
/// The tool by which the model finds other tools.
pub(crate) const SEARCH: &str = "tool_search";
/// The tags around each tool that a search found.
const FOUND: (&str, &str) = ("<function>", "</function>");

/// The arguments of a call to the wrapping tool.
#[derive(Deserialize)]
struct Wrapped {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// The tool and the arguments inside a call to a client's wrapping tool; `None` if the call wraps nothing, or a tool
/// that is not infold's.
pub fn unwrapped(tool: &str, arguments: &str) -> Option<(String, String)> {
    if tool != WRAPPER {
        return None;
    }
    let Wrapped { name, arguments } = serde_json::from_str(arguments).ok()?;
    ToolEffect::of(&name)?;
    let arguments = match arguments {
        Value::Null => "{}".to_owned(),
        // Some models write the arguments as a JSON string instead of an object.
        Value::String(text) => text,
        other => other.to_string(),
    };
    Some((name, arguments))
}

/// The names of the tools in the output of a search.
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
