//! Made-up conversations in the forms that clients write them in.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::support::{Api, Program};

/// The route of the JSON API that forks.
pub const FORKS: &str = "/api/v1/forks";

/// A result and the words around it, in OpenCode's form.
pub fn opencode(turns: usize, result: &str) -> Value {
    let info = |number: usize, role: &str| json!({"id": format!("msg_{number}"), "role": role, "sessionID": "ses_1"});
    let mut messages = vec![json!({
        "info": info(0, "user"),
        "parts": [{"id": "prt_0", "type": "text", "text": "Where is the parser?"}],
    })];
    messages.extend((1..=turns).map(|number| {
        json!({
            "info": info(number, "assistant"),
            "parts": [
                {"id": format!("prt_{number}a"), "type": "text", "text": format!("Step {number}.")},
                {"id": format!("prt_{number}b"), "type": "tool", "callID": format!("call_{number}"), "tool": "read",
                 "state": {"status": "completed", "input": {"filePath": format!("src/{number}.rs")}, "output": result}},
            ],
        })
    }));
    Value::Array(messages)
}

/// The same in the form of Claude Code's lines.
pub fn claude_code(turns: usize, result: &str) -> String {
    let mut lines = vec![json!({
        "type": "user", "uuid": "u0", "parentUuid": null, "sessionId": "11111111-2222-4333-8444-555555555555",
        "message": {"role": "user", "content": "Where is the parser?"},
    })];
    for number in 1..=turns {
        lines.push(json!({
            "type": "assistant", "uuid": format!("a{number}"), "parentUuid": format!("u{}", number - 1),
            "sessionId": "11111111-2222-4333-8444-555555555555",
            "message": {"role": "assistant", "content": [
                {"type": "text", "text": format!("Step {number}.")},
                {"type": "tool_use", "id": format!("toolu_{number}"), "name": "Read",
                 "input": {"file_path": format!("src/{number}.rs")}},
            ]},
        }));
        lines.push(json!({
            "type": "user", "uuid": format!("u{number}"), "parentUuid": format!("a{number}"),
            "sessionId": "11111111-2222-4333-8444-555555555555",
            "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": result},
            ]},
        }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The same as the messages of a request to Anthropic.
pub fn anthropic(turns: usize, result: &str) -> Value {
    claude_code(turns, result)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| line["message"].clone())
        .collect()
}

/// Forks over the JSON API, and returns the answer.
pub async fn forked(api: &Api, body: &Value) -> Result<Value> {
    api.post(FORKS, body).await?.with_status(201)
}

/// Everything that `read_result` gives of a stored text, page by page.
pub async fn read_whole(program: &Program, ref_id: &str) -> Result<String> {
    let mut text = String::new();
    let mut offset = 0;
    loop {
        let part = program.done("read_result", json!({"ref_id": ref_id, "offset": offset, "limit": 60_000})).await?;
        text.push_str(part["content"].as_str().context("content")?);
        match part["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => return Ok(text),
        }
    }
}
