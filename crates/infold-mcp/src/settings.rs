//! What can be set about the MCP surface. The values come from the program; none has a default here.

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
    /// `memory_search`, `memory_record` and `memory_feedback`.
    Memory,
    /// `branch_create` and `branch_return`: what an agent behind the proxy needs, and no more.
    Lean,
}

/// Who knows which session a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFrom {
    /// The caller, who names the session in the call's arguments.
    Caller,
    /// The proxy, which saw the model make the call. Tools are listed without the arguments that it makes needless.
    Proxy,
}

/// How a refusal of a `context_*` tool is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorStyle {
    /// As a JSON-RPC error, with the codes of the document of these tools.
    Jsonrpc,
    /// As a tool result with `isError`, which more clients show to their model.
    Result,
}

/// Settings of the MCP server. The program fills in every field.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The families of tools that `tools/list` shows.
    pub families: Vec<ToolFamily>,
    /// Who knows which session a call belongs to. This decides which arguments are listed; a call that the proxy
    /// saw belongs where the proxy saw it in either case.
    pub session_from: SessionFrom,
    /// How a refusal of a `context_*` tool is answered.
    pub errors: ErrorStyle,
    /// Most bytes of a request body over HTTP, and of a line over stdio.
    pub message_bytes_max: usize,
}
