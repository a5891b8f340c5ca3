//! What can be set about the MCP surface. The values come from the program; none has a default here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A family of tools. `tools/list` shows the families that settings name; every tool can be called
/// whether it is shown or not, because a description costs tokens in every request and a call does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolFamily {
    /// `branch_create`, `branch_return`, `branch_status`.
    Branch,
    /// `context_*` and `session_end`.
    Context,
    /// `branch_create` and `branch_return`: what an agent behind the proxy needs, and no more.
    Lean,
}

/// Who says which session a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFrom {
    /// Whoever calls, in the call.
    Caller,
    /// The proxy, which saw the model make the call. Tools are listed without what it knows better.
    Proxy,
}

/// How a refusal of a `context_*` tool is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorStyle {
    /// As a JSON-RPC error with the codes of their document.
    Jsonrpc,
    /// As a tool result with `isError`, which more models get to read.
    Result,
}

/// Whether the tools, resources and prompts that the official conformance suite calls are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixtures {
    /// They do not exist, and no capability claims them.
    Off,
    /// They are served beside the real tools. For tests only.
    On,
}

/// Settings of the MCP surface.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Families that `tools/list` shows.
    pub families: Vec<ToolFamily>,
    /// Who says which session a call belongs to. A call that the proxy saw belongs where it saw it in any
    /// case; this is about what tools are said to take.
    pub session_from: SessionFrom,
    /// How a refusal of a `context_*` tool is answered.
    pub errors: ErrorStyle,
    /// Whether the conformance fixtures are served.
    pub fixtures: Fixtures,
    /// Largest request body over HTTP, and longest line over stdio.
    pub message_bytes_max: usize,
    /// Sessions of the older protocol revisions that may stand at once. Only the fixtures need any:
    /// infold itself never asks its client for something, and serves every request on its own. 0 is none.
    pub sessions_max: usize,
    /// How long such a session may be idle before it lapses.
    pub session_idle: Duration,
}
