//! A gateway, or the backend itself, and how the measured tool is called there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use infold_testkit::{CallAnswer, Era, McpHttp};
use serde_json::{Map, Value, json};

use super::backend::READING_TOOL;
use crate::bench::process::Process;

/// The session that infold counts calls in.
const SESSION: &str = "measured";

/// Something that serves the measured tool.
#[derive(Debug)]
pub struct CalledGateway {
    pub name: &'static str,
    /// The process that is measured; `None` for the backend itself.
    pub process: Option<Process>,
    /// The length of all definitions that it lists.
    pub list_bytes: usize,
    client: McpHttp,
    tool: String,
    way: CalledWay,
    meta: Map<String, Value>,
}

/// Where a call names the tool that is meant.
#[derive(Debug, Clone, Copy)]
enum CalledWay {
    /// It is listed itself.
    Listed,
    /// In the arguments of infold's tool.
    Infold,
    /// In the arguments of mcp-compressor's tool.
    Compressor,
}

impl CalledGateway {
    /// Connects in the newest era that is served there, and finds the measured tool.
    pub async fn connect(name: &'static str, base_url: &str, process: Option<Process>) -> Result<Self> {
        let (client, tools) = match listed(base_url, Era::Modern).await {
            Ok(found) => found,
            Err(_) => listed(base_url, Era::Legacy).await?,
        };
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let find = |ending: &str| names.iter().find(|name| name.ends_with(ending)).map(|name| (*name).to_owned());
        let ways = [
            ("tool_call_read", CalledWay::Infold),
            ("invoke_tool", CalledWay::Compressor),
            (READING_TOOL, CalledWay::Listed),
        ];
        let found = ways.iter().find_map(|(ending, way)| Some((find(ending)?, *way)));
        let (tool, way) = found.with_context(|| format!("{name} has no way to call {READING_TOOL}: {names:?}"))?;
        let list_bytes = Value::Array(tools).to_string().len();
        Ok(Self { name, process, list_bytes, client, tool, way, meta: Map::new() })
    }

    /// Has infold count every further call in a session.
    pub async fn count_in_session(&mut self) -> Result<()> {
        let opening = json!({ "session_id": SESSION, "description": "be a session" });
        let opened = self.client.call("branch_create", opening).await?;
        let folding = json!({ "branch_id": opened.text_field("branch_id"), "message": "It is one." });
        self.client.call("branch_return", folding).await?;
        self.meta.insert("infold/sessionId".to_owned(), json!(SESSION));
        Ok(())
    }

    /// Leaves every further call uncounted.
    pub fn count_nowhere(&mut self) {
        self.meta.clear();
    }

    /// Calls the measured tool, and returns its answer and how long it took.
    pub async fn call(&self, id: &str) -> Result<(CallAnswer, Duration)> {
        let arguments = json!({ "id": id });
        let arguments = match self.way {
            CalledWay::Listed => arguments,
            CalledWay::Infold => json!({ "name": format!("code__{READING_TOOL}"), "arguments": arguments }),
            CalledWay::Compressor => json!({ "tool_name": READING_TOOL, "tool_input": arguments }),
        };
        let meta = self.meta.clone();
        let began = Instant::now();
        let answer = self.client.call_with_meta(&self.tool, arguments, meta).await?;
        let took = began.elapsed();
        if !answer.is_ok() {
            bail!("{}: {}", self.name, answer.summary());
        }
        Ok((answer, took))
    }
}

async fn listed(base_url: &str, era: Era) -> Result<(McpHttp, Vec<Value>)> {
    let client = McpHttp::connect(base_url, era).await?;
    let tools = client.list_tools().await?;
    if tools.is_empty() {
        bail!("no tool is listed in {era:?}");
    }
    Ok((client, tools))
}
