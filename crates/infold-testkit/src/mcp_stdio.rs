//! A small MCP client that talks to a child process over its standard input and output.
//!
//! Calls go one after another, so that a test need not find out which answer belongs to which call.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::answer::{CallAnswer, CallError, answers};
use crate::daemon::isolated;
use crate::era::Era;

/// How long a call may take before the client gives up on it.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A child process that serves MCP on its standard input and output. Killed when dropped.
#[derive(Debug)]
pub struct McpStdio {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    era: Era,
    last_id: u64,
}

impl McpStdio {
    /// Starts `binary mcp` on the data in `data`, with `home` as its home and `--set` for each of
    /// `settings`.
    pub async fn start(binary: &Path, home: &Path, data: &Path, settings: &[&str], era: Era) -> Result<Self> {
        let mut command = isolated(binary, home);
        command.arg("mcp").arg("--data").arg(data);
        for setting in settings {
            command.args(["--set", setting]);
        }
        Self::spawn(command, era).await
    }

    /// Starts any command that serves MCP on its standard input and output.
    pub async fn spawn(mut command: Command, era: Era) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the stdio server")?;
        let input = child.stdin.take().context("the server has no standard input")?;
        let output = child.stdout.take().context("the server has no standard output")?;
        let output = BufReader::new(output).lines();
        let mut client = Self { child, input, output, era, last_id: 0 };
        if era == Era::Legacy {
            client.request("initialize", era.initialize_params(), Map::new()).await?;
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        }
        Ok(client)
    }

    /// Calls a tool, with nothing in `_meta` but what the era demands.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Result<CallAnswer, CallError> {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params, Map::new()).await
    }

    /// The server's tools, as it lists them.
    pub async fn list_tools(&mut self) -> Result<Vec<Value>, CallError> {
        let answer = self.request("tools/list", json!({}), Map::new()).await?;
        Ok(answer.result.get("tools").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Sends any request and waits for its answer.
    pub async fn request(
        &mut self,
        method: &str,
        params: Value,
        meta: Map<String, Value>,
    ) -> Result<CallAnswer, CallError> {
        self.last_id += 1;
        let id = self.last_id;
        let request = self.era.request(id, method, params, meta);
        self.send(&request).await.map_err(|error| lost(method, &error.to_string()))?;
        match timeout(CALL_TIMEOUT, self.read_answer(method, id)).await {
            Ok(answer) => answer,
            Err(_) => Err(lost(method, "no answer in time")),
        }
    }

    /// Closes the server's input, which asks it to exit, and returns its exit status.
    pub async fn close(self) -> Result<ExitStatus> {
        let Self { mut child, input, output, .. } = self;
        drop(input);
        let status = timeout(CALL_TIMEOUT, child.wait()).await;
        drop(output);
        status.context("the stdio server did not leave")?.context("cannot wait for the stdio server")
    }

    async fn send(&mut self, message: &Value) -> std::io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        self.input.write_all(line.as_bytes()).await?;
        self.input.flush().await
    }

    async fn read_answer(&mut self, method: &str, id: u64) -> Result<CallAnswer, CallError> {
        let mut notifications = Vec::new();
        loop {
            let line = self.output.next_line().await;
            let line = line.map_err(|error| lost(method, &error.to_string()))?;
            let line = line.ok_or_else(|| lost(method, "the server closed its output"))?;
            let message: Value = serde_json::from_str(&line)
                .map_err(|_| CallError::Malformed { method: method.to_owned(), what: line })?;
            if answers(&message, id) {
                return Ok(CallAnswer::from_message(message, notifications));
            }
            notifications.push(message);
        }
    }
}

fn lost(method: &str, reason: &str) -> CallError {
    CallError::Lost { method: method.to_owned(), reason: reason.to_owned() }
}
