//! How Codex writes its requests: everything is an item, the instructions are a developer's message, reasoning is
//! sent back sealed, and a search loads infold's tools in a namespace.

use serde_json::{Value, json};

use super::{Agent, Listing, ReplyCall, SERVER, ToolOutput};

/// A message item with one text.
pub(super) fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

/// The items before a person's first words: the instructions, and the environment.
pub(super) fn front() -> Vec<Value> {
    let instructions = "You do what you are asked, carefully, and say what you did. ".repeat(100);
    vec![
        message("developer", &instructions),
        message("user", "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
    ]
}

pub(super) fn headers(agent: &Agent) -> Vec<(&'static str, String)> {
    let thread = agent.subagent.clone().unwrap_or_else(|| agent.session.clone());
    let metadata = json!({"session_id": agent.session, "thread_id": thread, "request_kind": "turn"});
    let mut headers = vec![
        ("session-id", agent.session.clone()),
        ("thread-id", thread),
        ("x-codex-turn-metadata", metadata.to_string()),
        ("authorization", "Bearer sk-scripted-0000".to_owned()),
        ("accept", "text/event-stream".to_owned()),
        ("originator", "codex_exec".to_owned()),
        ("user-agent", "codex_exec/0.166.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.166.0)".to_owned()),
    ];
    if agent.subagent.is_some() {
        headers.push(("x-codex-parent-thread-id", agent.session.clone()));
    }
    headers
}

pub(super) fn request(agent: &Agent) -> Value {
    json!({
        "model": "gpt-5.5",
        "input": agent.transcript,
        "tools": tools(agent),
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "reasoning": {"effort": "medium"},
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": agent.session,
    })
}

fn tools(agent: &Agent) -> Vec<Value> {
    let mut tools = vec![
        json!({"type": "function", "name": "exec_command", "description": "Runs a command.", "strict": false,
            "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}}),
        json!({"type": "custom", "name": "apply_patch", "description": "Edits files."}),
    ];
    match agent.listing {
        Listing::Deferred => tools.push(json!({"type": "tool_search", "execution": "client",
            "description": "Finds tools of: infold."})),
        Listing::Inline => {
            let names: Vec<String> =
                agent.server_tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
            tools.push(namespace(&agent.server_tools, &names));
        }
    }
    tools
}

/// The namespace of infold's tools, with those of the given names.
fn namespace(server_tools: &[Value], names: &[String]) -> Value {
    let wanted = server_tools.iter().filter(|tool| names.iter().any(|name| tool["name"] == name.as_str()));
    let tools: Vec<Value> = wanted
        .map(|tool| {
            json!({"type": "function", "name": tool["name"], "description": tool["description"], "strict": false,
                "parameters": tool["inputSchema"]})
        })
        .collect();
    json!({"type": "namespace", "name": format!("mcp__{SERVER}"), "description": "Branches.", "tools": tools})
}

/// One item for each result.
pub(super) fn results(results: &[(ReplyCall, ToolOutput)], server_tools: &[Value]) -> Vec<Value> {
    let item = |(call, given): &(ReplyCall, ToolOutput)| match given {
        ToolOutput::Loaded(names) => json!({
            "type": "tool_search_output", "call_id": call.id, "status": "completed", "execution": "client",
            "tools": [namespace(server_tools, names)],
        }),
        ToolOutput::Text(text) if call.tool.starts_with("mcp__") => json!({
            "type": "function_call_output", "call_id": call.id, "output": [
                {"type": "input_text", "text": "Wall time: 0.0065 seconds\nOutput:"},
                {"type": "input_text", "text": text},
            ],
        }),
        ToolOutput::Text(text) => json!({"type": "function_call_output", "call_id": call.id, "output": text}),
    };
    results.iter().map(item).collect()
}
