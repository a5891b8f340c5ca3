//! The agent's own tools, and infold's as they come over MCP.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::scene::FILES;

/// How the agent spells infold's tools, as Claude Code does for a server of that name.
pub const PREFIX: &str = "mcp__infold__";
/// Those of infold's tools that the agent lists; the scene needs no others.
const LISTED: [&str; 3] = ["branch_create", "branch_return", "read_result"];
/// The version of MCP that the agent speaks.
const PROTOCOL: &str = "2026-07-28";

/// The agent's own tools, and a connection to infold's.
pub struct DemoTools {
    http: reqwest::Client,
    url: String,
}

impl DemoTools {
    /// Uses the tools of the daemon at `base_url`.
    pub fn new(http: reqwest::Client, base_url: &str) -> Self {
        Self { http, url: format!("{base_url}/mcp") }
    }

    /// All tools, as a request lists them.
    pub async fn list(&self) -> anyhow::Result<Value> {
        let listed = self.ask("tools/list", json!({}), None).await?;
        let mut tools = own();
        for tool in listed["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().unwrap_or_default();
            if LISTED.contains(&name) {
                tools.push(json!({
                    "name": format!("{PREFIX}{name}"),
                    "description": tool["description"],
                    "input_schema": tool["inputSchema"],
                }));
            }
        }
        Ok(Value::Array(tools))
    }

    /// Carries out a call and returns its result. `id` is the model's own id for the call.
    pub async fn call(&self, id: &str, tool: &str, input: &Value) -> anyhow::Result<String> {
        let Some(name) = tool.strip_prefix(PREFIX) else { return own_call(tool, input) };
        let params = json!({"name": name, "arguments": input});
        let result = self.ask("tools/call", params, Some(id)).await?;
        let text = result["content"][0]["text"].as_str().context("infold's tool gave no text")?;
        Ok(text.to_owned())
    }

    async fn ask(&self, method: &str, mut params: Value, call: Option<&str>) -> anyhow::Result<Value> {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientInfo": {"name": "infold-demo", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if let Some(call) = call {
            params["_meta"]["claudecode/toolUseId"] = json!(call);
        }
        let request = self.http.post(&self.url).header("mcp-protocol-version", PROTOCOL).header("mcp-method", method);
        let request = match params["name"].as_str() {
            Some(name) => request.header("mcp-name", name),
            None => request,
        };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = request.header("accept", "application/json, text/event-stream").json(&body);
        let answer = request.send().await.context("infold's tools could not be reached")?.text().await?;
        // The answer is one JSON text, or an event stream with one such text in it.
        let answer = answer.lines().rev().find_map(|line| line.strip_prefix("data:")).unwrap_or(&answer);
        let mut answer: Value = serde_json::from_str(answer.trim()).context("infold's tools gave no JSON")?;
        if let Some(error) = answer.get("error") {
            bail!("{method} was refused: {error}");
        }
        Ok(answer["result"].take())
    }
}

/// The agent's own tools, as a request lists them.
fn own() -> Vec<Value> {
    let text = |what: &str| json!({"type": "string", "description": what});
    vec![
        json!({
            "name": "Read",
            "description": "Reads a file of the project.",
            "input_schema": {"type": "object", "properties": {"file_path": text("Path of the file")}, "required": ["file_path"]},
        }),
        json!({
            "name": "Write",
            "description": "Writes a file of the project.",
            "input_schema": {
                "type": "object",
                "properties": {"file_path": text("Path of the file"), "content": text("What is in it")},
                "required": ["file_path", "content"],
            },
        }),
    ]
}

fn own_call(tool: &str, input: &Value) -> anyhow::Result<String> {
    let path = input["file_path"].as_str().unwrap_or_default();
    match tool {
        "Read" => {
            let file = FILES.iter().find(|file| file.path == path).with_context(|| format!("there is no {path}"))?;
            Ok(file.text.lines().enumerate().map(|(at, line)| format!("{:>5}\t{line}\n", at + 1)).collect())
        }
        // Nothing is really written: the demonstration is about the conversation.
        "Write" => Ok(format!("{path} was written")),
        other => bail!("the agent has no tool {other}"),
    }
}
