//! `[gateway]` as types. `default.toml` says what each setting means.

use infold_core::gateway::{DeferralMode, NewTools, SchemaForm};
use serde::Deserialize;

use super::server::GatewayServer;

/// `[gateway]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Gateway {
    pub servers: Vec<GatewayServer>,
    pub deferral: Deferral,
    pub deferral_percent: u64,
    pub deferral_tokens: u64,
    pub new_tools: NewToolFate,
    pub schemas: SchemaListing,
    pub start_timeout_ms: u64,
    pub call_timeout_ms: u64,
    pub list_wait_ms: u64,
    pub idle_ms: u64,
    pub children_max: usize,
    pub calls_max: usize,
    pub message_bytes_max: usize,
    pub result_bytes_max: usize,
    pub failures_max: u32,
    pub retry_max_ms: u64,
    pub heartbeat_ms: u64,
}

/// What happens if the definitions of tools take too many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deferral {
    /// None is listed; they are searched for and called through infold's tools.
    Call,
    /// As many as fit are listed, and those that were found.
    Promote,
}

impl From<Deferral> for DeferralMode {
    fn from(deferral: Deferral) -> Self {
        match deferral {
            Deferral::Call => Self::Call,
            Deferral::Promote => Self::Promote,
        }
    }
}

/// What happens to a new tool of a known server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewToolFate {
    /// It is used.
    Pin,
    /// It waits for approval.
    Withhold,
}

impl From<NewToolFate> for NewTools {
    fn from(fate: NewToolFate) -> Self {
        match fate {
            NewToolFate::Pin => Self::Pin,
            NewToolFate::Withhold => Self::Withhold,
        }
    }
}

/// How the schemas of tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaListing {
    /// As the server wrote them.
    AsIs,
    /// Rewritten so that every provider takes them.
    Provider,
}

impl From<SchemaListing> for SchemaForm {
    fn from(listing: SchemaListing) -> Self {
        match listing {
            SchemaListing::AsIs => Self::AsIs,
            SchemaListing::Provider => Self::Provider,
        }
    }
}
