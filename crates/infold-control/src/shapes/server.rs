//! JSON of other MCP servers and their tools.

use infold_core::strip_hostile;
use infold_engine::{NamedTools, ServerOverview, ServerTool, WithheldTool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::moment::Moment;

/// Other MCP servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerList {
    /// Those of the settings in their order, then others that something is stored of.
    pub(crate) servers: Vec<ServerSummary>,
}

/// Another MCP server, with what the caller's calls of its tools add up to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerSummary {
    /// Its name.
    name: String,
    /// How it is reached, without values that may be secret; null if settings do not name it any more.
    server: Option<String>,
    /// Where it was written; null if settings do not name it any more.
    origin: Option<String>,
    /// A word for how it is: configured (never started), starting, ready, idle, failing, unavailable, needs_login,
    /// needs_approval, refused or off.
    state: String,
    /// Why it is so, if there is more to say.
    detail: Option<String>,
    /// How it was spoken to last: legacy (up to 2025-11-25) or modern (2026-07-28).
    era: Option<String>,
    /// How many of its tools may be used.
    tools: u64,
    /// How many of its tools wait for approval.
    withheld: u64,
    /// Tokens that its usable tools would take in a request that lists all of them.
    definition_tokens: u64,
    /// How many calls there were.
    calls: u64,
    /// How many of them failed.
    errors: u64,
    /// Tokens of the arguments.
    tokens_in: u64,
    /// Tokens of what was shown of the results.
    tokens_out: u64,
    /// How many results were stored, and a reference shown instead.
    offloaded: u64,
    /// How long calls took.
    latency_ms: LatencyShape,
    /// When its last call ended.
    last_at: Option<Moment>,
}

/// How long calls took, in milliseconds; null if there were none.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
struct LatencyShape {
    /// Half of the calls took at most this long.
    p50: Option<f64>,
    /// 95 % of the calls took at most this long.
    p95: Option<f64>,
}

impl From<&ServerOverview> for ServerSummary {
    fn from(server: &ServerOverview) -> Self {
        let figures = &server.figures;
        Self {
            name: figures.server.to_string(),
            server: server.way.clone(),
            origin: server.origin.clone(),
            state: server.state.clone(),
            detail: server.detail.clone(),
            era: figures.era.clone(),
            tools: figures.tools,
            withheld: figures.withheld,
            definition_tokens: figures.definition_tokens,
            calls: figures.calls,
            errors: figures.errors,
            tokens_in: figures.tokens_in,
            tokens_out: figures.tokens_out,
            offloaded: figures.offloaded,
            latency_ms: LatencyShape { p50: figures.p50_ms, p95: figures.p95_ms },
            last_at: figures.last_at_ms.map(Moment),
        }
    }
}

/// Another MCP server, with the tools of it that may not be used.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerDetail {
    #[serde(flatten)]
    summary: ServerSummary,
    /// Tools that may not be used until the user approves them, and others that cannot be used.
    withheld_tools: Vec<WithheldShape>,
}

/// A tool that may not be used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WithheldTool")]
struct WithheldShape {
    /// What its server calls it.
    tool: String,
    /// Why, in words that follow its name.
    reason: &'static str,
}

impl ServerDetail {
    pub(crate) fn new(server: &ServerOverview, withheld: &[WithheldTool]) -> Self {
        let withheld = withheld.iter();
        let withheld_tools = withheld.map(|tool| WithheldShape { tool: tool.tool.clone(), reason: tool.why.words() });
        Self { summary: server.into(), withheld_tools: withheld_tools.collect() }
    }
}

/// Tools of other MCP servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolList {
    /// The tools, those that fit best first.
    tools: Vec<ToolSummary>,
    /// How many tools of servers may be called in all.
    total: usize,
}

impl ToolList {
    pub(crate) fn new(tools: &NamedTools, query: Option<&str>, limit: usize) -> Self {
        let found = tools.find(query, limit).into_iter().map(ToolSummary::from).collect();
        Self { tools: found, total: tools.callable.len() }
    }
}

/// A tool of another MCP server.
#[derive(Debug, Serialize, JsonSchema)]
struct ToolSummary {
    /// The name that callers use.
    name: String,
    /// Its server.
    server: String,
    /// What its server calls it.
    tool: String,
    /// The tool that calls it where it is not listed: tool_call or tool_call_read.
    call: &'static str,
    /// What it does, in its server's words.
    description: String,
    /// Tokens that it takes in a request that lists it.
    tokens: u64,
    /// The schema of its arguments.
    input_schema: Value,
}

impl From<&ServerTool> for ToolSummary {
    fn from(tool: &ServerTool) -> Self {
        Self {
            name: tool.name.to_string(),
            server: tool.definition.server.to_string(),
            tool: tool.definition.tool.clone(),
            call: tool.lane.tool().name(),
            description: strip_hostile(&tool.definition.description),
            tokens: tool.tokens,
            input_schema: tool.definition.input.clone(),
        }
    }
}
