//! How OpenCode writes its requests: plain messages, all tools listed, nothing deferred, and no id with its MCP
//! calls.

use serde_json::{Value, json};

use super::{Agent, ReplyCall, SERVER, ToolOutput};

/// A message with one text.
pub(super) fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// The message before a person's first words: the instructions.
pub(super) fn front() -> Vec<Value> {
    vec![message("system", &"You do what you are asked, carefully, and say what you did. ".repeat(100))]
}

pub(super) fn headers(agent: &Agent) -> Vec<(&'static str, String)> {
    let session = agent.subagent.clone().unwrap_or_else(|| agent.session.clone());
    let mut headers = vec![
        ("x-session-affinity", session.clone()),
        ("x-session-id", session),
        ("authorization", "Bearer sk-scripted-0000".to_owned()),
        ("user-agent", "opencode/1.18.33 ai-sdk/provider-utils/4.0.0 runtime/bun/1.3.0".to_owned()),
    ];
    if agent.subagent.is_some() {
        headers.push(("x-parent-session-id", agent.session.clone()));
    }
    headers
}

pub(super) fn request(agent: &Agent) -> Value {
    json!({
        "model": "scripted",
        "max_tokens": 8_000,
        "messages": agent.transcript,
        "tools": tools(agent),
        "tool_choice": "auto",
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

fn tools(agent: &Agent) -> Vec<Value> {
    let function = |name: &str, description: &Value, parameters: &Value| {
        let function = json!({"name": name, "description": description, "parameters": parameters});
        json!({"type": "function", "function": function})
    };
    let own = [("bash", "command"), ("read", "filePath"), ("write", "filePath"), ("edit", "filePath")];
    let mut tools: Vec<Value> = own
        .into_iter()
        .map(|(name, argument)| {
            let schema = json!({"type": "object", "properties": {argument: {"type": "string"}}});
            function(name, &json!("One of the client's own tools."), &schema)
        })
        .collect();
    tools.extend(agent.server_tools.iter().map(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        function(&format!("{SERVER}_{name}"), &tool["description"], &tool["inputSchema"])
    }));
    tools
}

/// One message for each result.
pub(super) fn results(results: &[(ReplyCall, ToolOutput)]) -> Vec<Value> {
    let message = |(call, given): &(ReplyCall, ToolOutput)| {
        let text = match given {
            ToolOutput::Text(text) => text.clone(),
            ToolOutput::Loaded(names) => names.join("\n"),
        };
        json!({"role": "tool", "tool_call_id": call.id, "content": text})
    };
    results.iter().map(message).collect()
}
