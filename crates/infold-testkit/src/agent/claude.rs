//! How Claude Code writes its requests: cache marks on two system blocks and on the last block, entries with role
//! `system`, its own words in front of the person's, and tools that are deferred until its search loads them.

use serde_json::{Value, json};

use super::{Agent, Listing, Reminders, ReplyCall, SERVER, ToolOutput};

/// What the client writes about itself, in a system block of its own in front of the others.
const ATTRIBUTION: &str = "x-anthropic-billing-header: cc_version=2.1.325.1e1; cc_entrypoint=sdk-cli;";

/// The client's instructions, long enough for the provider to cache them.
fn instructions() -> String {
    "You do what you are asked, carefully, and say what you did. ".repeat(100)
}

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A message with a person's words.
pub(super) fn words(words: &str) -> Value {
    json!({"role": "user", "content": [text(words)]})
}

/// The first message: the client's own words, then the person's.
pub(super) fn first_words(words: &str) -> Value {
    let rules = text("<system-reminder>\nThe project's rules: be kind, test everything.\n</system-reminder>");
    let day = text("<system-reminder>\nToday is a Monday.\n</system-reminder>");
    json!({"role": "user", "content": [rules, day, text(words)]})
}

/// The entry that names the deferred tools.
pub(super) fn system_entry(server_tools: &[Value]) -> Value {
    let names = server_tools.iter().filter_map(|tool| tool["name"].as_str());
    let names: Vec<String> = names.map(|name| format!("mcp__{SERVER}__{name}")).collect();
    json!({"role": "system", "content": format!("Deferred tools, load them with ToolSearch:\n{}", names.join("\n"))})
}

pub(super) fn headers(agent: &Agent) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("x-claude-code-session-id", agent.session.clone()),
        ("anthropic-version", "2023-06-01".to_owned()),
        ("anthropic-beta", "claude-code-20250219,interleaved-thinking-2025-05-14".to_owned()),
        ("x-api-key", "sk-ant-scripted-0000".to_owned()),
        ("user-agent", "claude-cli/2.1.325 (external, sdk-cli)".to_owned()),
    ];
    headers.extend(agent.subagent.clone().map(|id| ("x-claude-code-agent-id", id)));
    headers
}

pub(super) fn request(agent: &Agent) -> Value {
    let user_id = json!({"device_id": "d", "account_uuid": "", "session_id": agent.session}).to_string();
    json!({
        "model": "claude-opus-5-5",
        "messages": messages(&agent.transcript),
        "system": [
            {"type": "text", "text": ATTRIBUTION},
            {"type": "text", "text": "You are a scripted agent.", "cache_control": mark()},
            {"type": "text", "text": instructions(), "cache_control": mark()},
        ],
        "tools": tools(agent),
        "metadata": {"user_id": user_id},
        "max_tokens": 128_000,
        "thinking": {"type": "adaptive"},
        "stream": true,
    })
}

/// The transcript with a mark on its last block. A system entry that is marked is a list, others are text.
fn messages(transcript: &[Value]) -> Vec<Value> {
    let mut messages = transcript.to_vec();
    if let Some(last) = messages.last_mut() {
        if let Some(text) = last["content"].as_str() {
            last["content"] = json!([{"type": "text", "text": text}]);
        }
        let block = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut());
        if let Some(block) = block {
            block["cache_control"] = mark();
        }
    }
    messages
}

fn tools(agent: &Agent) -> Vec<Value> {
    let own = [("Bash", "command"), ("Read", "file_path"), ("Write", "file_path"), ("ToolSearch", "query")];
    let mut tools: Vec<Value> = own
        .into_iter()
        .map(|(name, argument)| {
            let schema = json!({"type": "object", "properties": {argument: {"type": "string"}}});
            json!({"name": name, "description": "One of the client's own tools.", "input_schema": schema})
        })
        .collect();
    let placeholder = json!({"name": "DeferredToolPlaceholder", "description": "Keeps deferred loading active.",
        "input_schema": {"type": "object", "properties": {}}, "defer_loading": true});
    if agent.listing == Listing::Deferred {
        tools.push(placeholder);
    }
    for tool in &agent.server_tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let mut listed = json!({"name": format!("mcp__{SERVER}__{name}"), "description": tool["description"],
            "input_schema": tool["inputSchema"]});
        match agent.listing {
            Listing::Inline => tools.push(listed),
            Listing::Deferred if agent.loaded.iter().any(|loaded| loaded == name) => {
                listed["defer_loading"] = json!(true);
                tools.push(listed);
            }
            Listing::Deferred => {}
        }
    }
    tools
}

/// One message with all results, and the client's own words after them.
pub(super) fn results(results: &[(ReplyCall, ToolOutput)], reminders: Reminders) -> Vec<Value> {
    let mut loaded = false;
    let mut blocks: Vec<Value> = results
        .iter()
        .map(|(call, given)| {
            let content = match given {
                ToolOutput::Text(text) if call.tool.starts_with("mcp__") => json!([{"type": "text", "text": text}]),
                ToolOutput::Text(text) => json!(text),
                ToolOutput::Loaded(names) => {
                    loaded = true;
                    let name = |name: &String| format!("mcp__{SERVER}__{name}");
                    let references =
                        names.iter().map(|tool| json!({"type": "tool_reference", "tool_name": name(tool)}));
                    references.collect()
                }
            };
            json!({"tool_use_id": call.id, "type": "tool_result", "content": content})
        })
        .collect();
    if loaded {
        blocks.push(json!({"type": "text", "text": "Tool loaded."}));
    }
    let mut entries = vec![json!({"role": "user", "content": blocks})];
    if reminders == Reminders::BehindResults {
        entries.push(json!({"role": "system", "content": "The file list has not changed."}));
    }
    entries
}
