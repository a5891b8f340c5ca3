//! The settings as types. `default.toml` says what each one means.
//!
//! These types belong to the settings files. The other crates have their own, which `parts` makes from
//! these.

use serde::Deserialize;

use super::agent::AgentPart;
use super::gateway::Gateway;
use super::memory::MemoryPart;

/// All settings, with a field for each section of `default.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The data folder as it was given; empty for the usual one.
    pub data: String,
    /// Where the daemon listens, and its limits.
    pub server: Server,
    /// Limits of branches.
    pub folding: Folding,
    /// The limit of the main thread.
    pub context: Context,
    /// How tokens are counted.
    pub count: Count,
    /// Limits of scrubbing.
    pub scrub: Scrub,
    /// Which results are offloaded, and how much of them is shown.
    pub shape: Shape,
    /// Limits of reading transcripts.
    pub transcripts: Transcripts,
    /// What a fork gets of its parent.
    pub fork: Fork,
    /// The room that a rescued session has to fit.
    pub rescue: Rescue,
    /// How requests to model providers are changed and forwarded.
    pub proxy: Proxy,
    /// Limits and tools of agents that `infold run` starts.
    pub run: Run,
    /// How many tokens each model takes.
    pub windows: Windows,
    /// What providers charge for tokens, by model.
    pub prices: Prices,
    /// The database, and how long things stay in it.
    pub store: Store,
    /// Which MCP tools are listed, and their limits.
    pub mcp: Mcp,
    /// Other MCP servers, and how their tools are used.
    pub gateway: Gateway,
    /// What is learnt from branches, and what of it others are shown.
    pub memory: MemoryPart,
    /// infold's own agent.
    pub agent: AgentPart,
    /// Who may use the daemon.
    pub auth: Auth,
    /// Where logs, traces and metrics go.
    pub telemetry: Telemetry,
    /// Switches for infold's own tests.
    pub testing: Testing,
}

/// `[server]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Server {
    pub listen: String,
    pub worker_threads: usize,
    pub connections_max: usize,
    pub streams_max: usize,
    pub head_bytes_max: usize,
    pub head_timeout_ms: u64,
    pub body_bytes_max: u64,
    pub transcript_bytes_max: u64,
    pub stall_timeout_ms: u64,
    pub idle_timeout_ms: u64,
    pub drain_timeout_ms: u64,
}

/// `[folding]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Folding {
    pub default_budget: u64,
    pub max_budget: u64,
    pub max_depth: u32,
    pub default_timeout_seconds: u64,
    pub max_timeout_seconds: u64,
    pub max_concurrent_per_session: u32,
    pub max_concurrent_per_instance: u32,
    pub fair_share_percent: u32,
    pub max_branches_per_minute: u32,
    pub allocation: Allocation,
    pub isolation: Isolation,
    pub session_budget: u64,
    pub session_end_timeout_seconds: u64,
}

/// Where a branch's budget comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocation {
    /// Each branch has its own.
    Independent,
    /// It is taken out of the parent's remainder.
    Pool,
}

/// What a branch's thread begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// It begins with its brief.
    Isolated,
    /// It begins with its parent's conversation.
    Inherit,
}

/// `[context]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Context {
    pub context_limit: u64,
    pub context_hard_limit: bool,
}

/// `[count]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The family that is assumed for a model that is not known.
    pub family: Family,
}

/// A family of models that count tokens alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// OpenAI's models, and the nearest guess for anybody else's.
    Gpt,
    /// Claude up to 4.6.
    Claude,
    /// Claude since 4.7.
    ClaudeNew,
}

/// `[scrub]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Scrub {
    pub timeout_ms: u64,
    pub max_bytes: usize,
    pub rules: Vec<String>,
    pub allow: Vec<String>,
    pub known_variables: Vec<String>,
    pub known_files: Vec<String>,
}

/// `[shape]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Shape {
    pub file_bytes_max: usize,
    pub output_bytes_max: usize,
    pub reread_bytes_min: usize,
    pub lines_chars_max: usize,
    pub names_chars_max: usize,
}

/// `[transcripts]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Transcripts {
    pub entry_bytes_max: usize,
    pub problems_max: usize,
}

/// `[fork]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Fork {
    pub profile: Profile,
    pub char_budget: usize,
}

/// How a fork spends its characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// They are spent by the age of each tool result.
    Seed,
    /// They are spent on what later turns use again.
    Recall,
}

impl From<Profile> for infold_core::fork::Profile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Seed => Self::Seed,
            Profile::Recall => Self::Recall,
        }
    }
}

/// `[rescue]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Rescue {
    pub reserve_tokens: u64,
}

/// `[proxy]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Proxy {
    pub plan: bool,
    pub shape: bool,
    pub kept_results_tokens: u64,
    pub context_notes: bool,
    pub body_bytes_max: usize,
    pub unsearched_paths: Vec<String>,
    pub connect_timeout_ms: u64,
    pub silence_timeout_ms: u64,
    pub hold_ms: u64,
    pub retries_max: u32,
    pub retry_statuses: Vec<u16>,
    pub retry_after_max_ms: u64,
    pub sessions_max: usize,
    pub sessions_bytes_max: usize,
    pub anthropic: Upstream,
    pub openai: Upstream,
}

/// `[windows]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Windows {
    pub default_tokens: u64,
    pub models: Vec<Window>,
}

/// The window of a model: its name, in which `*` matches anything, the tokens that clients fill, and the tokens that it
/// takes from clients that ask for more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Window {
    /// The same window for every client.
    Fixed(String, u64),
    /// A usual window, and a larger one for clients that ask for it.
    Extendable(String, u64, u64),
}

impl Window {
    /// The pattern that models' names have to match.
    pub fn model(&self) -> &str {
        match self {
            Self::Fixed(model, _) | Self::Extendable(model, ..) => model,
        }
    }

    /// Tokens that clients fill if they do not ask for more.
    pub fn tokens(&self) -> u64 {
        match self {
            Self::Fixed(_, tokens) | Self::Extendable(_, tokens, _) => *tokens,
        }
    }

    /// Tokens that it takes from clients that ask for more.
    pub fn largest_tokens(&self) -> u64 {
        match self {
            Self::Fixed(_, tokens) | Self::Extendable(_, _, tokens) => *tokens,
        }
    }
}

/// `[proxy.anthropic]` and `[proxy.openai]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The address that requests are forwarded to.
    pub upstream: String,
}

/// `[run]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Run {
    pub window_tokens: u64,
    pub default_budget_percent: u32,
    pub max_budget_percent: u32,
    pub default_timeout_seconds: u64,
    pub max_timeout_seconds: u64,
    pub max_branches_per_minute: u32,
    pub max_concurrent_per_session: u32,
    pub always_load: bool,
    pub gateway: bool,
}

/// `[prices]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Prices {
    pub models: Vec<Price>,
}

/// What a provider charges for a million tokens, in dollars: a model's name, in which `*` matches
/// anything, then input, output, cache read and cache write.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Price(pub String, pub f64, pub f64, pub f64, pub f64);

/// `[store]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Store {
    pub backend: super::nats::Backend,
    pub nats: super::nats::Nats,
    pub synchronous: Synchronous,
    pub retention_days: u32,
    pub live_hours: u32,
    pub busy_timeout_ms: u64,
    pub readers: usize,
    pub checkpoint_pages: u32,
    pub result_offload_threshold: usize,
}

/// How safe a write is once the database has acknowledged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Synchronous {
    /// It survives power loss.
    Full,
    /// The latest writes can be lost at power loss.
    Normal,
}

/// `[mcp]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Mcp {
    pub tools: Vec<ToolFamily>,
    pub session: SessionSource,
    pub errors: ErrorForm,
    pub message_bytes_max: usize,
}

/// A family of MCP tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolFamily {
    /// `branch_create` and the tools that belong to it.
    Branch,
    /// `context_branch` and the tools that belong to it.
    Context,
    /// `memory_search` and the tools that belong to it.
    Memory,
    /// What an agent behind the proxy needs, and no more.
    Lean,
}

/// Who says which session a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionSource {
    /// The caller names the session.
    Caller,
    /// The proxy, which saw the model make the call.
    Proxy,
}

/// How the `context_*` tools report an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorForm {
    /// The call fails with a JSON-RPC error.
    Jsonrpc,
    /// The call succeeds, and its result says what went wrong.
    Result,
}

/// `[auth]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Auth {
    pub validator: Validator,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub jwt: Jwt,
}

/// Whether principals see only their own sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validator {
    /// A session belongs to the principal who made it.
    Strict,
    /// Everyone who may use the daemon shares all sessions.
    Permissive,
}

/// `[auth.jwt]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Jwt {
    pub algorithm: String,
    pub issuer: String,
    pub audience: String,
    pub key_file: String,
    pub jwks_file: String,
    pub leeway_seconds: u64,
}

impl Jwt {
    /// Whether JWTs are accepted at all: any of the keys is set.
    pub fn is_on(&self) -> bool {
        [&self.algorithm, &self.issuer, &self.audience, &self.key_file, &self.jwks_file]
            .into_iter()
            .any(|value| !value.is_empty())
    }
}

/// `[telemetry]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Telemetry {
    pub log_format: LogFormat,
    pub log_level: LogLevel,
    pub otlp_endpoint: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, otherwise JSON.
    Auto,
    /// One line of text each, for people.
    Text,
    /// One JSON object each, for programs.
    Json,
}

/// The least important level that is still logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the usual names")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// `[testing]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Testing {
    pub scrub_fault: ScrubFault,
}

/// A fault that tests plant in the scrubber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScrubFault {
    /// There is no fault.
    None,
    /// The scrubber panics.
    Panic,
    /// The scrubber never answers.
    Stall,
    /// There is no scrubber.
    Missing,
}
