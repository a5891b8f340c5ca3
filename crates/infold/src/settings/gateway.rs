//! `[gateway]` as types. `default.toml` says what each setting means.

use infold_core::gateway::{CallLimits, DeferralMode, EntryOrigin, NewTools, SchemaForm, ServerEntry, ServerKey};
use serde::Deserialize;

use super::server::GatewayServer;

/// Characters of a server's name that its tools' names begin with, if settings do not name a prefix.
const PREFIX_CHARS_MAX: usize = 30;

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
    pub credentials: CredentialsPlace,
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
    pub questions_max: usize,
    pub question_wait_ms: u64,
}

impl Gateway {
    /// The entries of all servers as they were written, also of those that are switched off.
    pub fn entries(&self) -> Vec<ServerEntry> {
        self.servers.iter().map(|server| self.entry(server)).collect()
    }

    /// The entry of one server.
    pub fn entry(&self, server: &GatewayServer) -> ServerEntry {
        ServerEntry {
            key: ServerKey::new(&server.name),
            way: server.way.clone(),
            prefix: server.prefix.clone().unwrap_or_else(|| usual_prefix(&server.name)),
            kind: server.kind,
            sharing: server.sharing,
            limits: CallLimits {
                start_timeout_ms: server.start_timeout_ms.unwrap_or(self.start_timeout_ms),
                call_timeout_ms: server.timeout_ms.unwrap_or(self.call_timeout_ms),
            },
            rights: server.rights.clone(),
            hints: server.hints,
            origin: EntryOrigin::Settings,
        }
    }
}

/// The prefix of a server for which settings name none. A name may have characters that a prefix must not have.
fn usual_prefix(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(plain).take(PREFIX_CHARS_MAX).collect();
    ServerEntry::usual_prefix(&ServerKey::new(name))
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

/// Where new logins to servers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialsPlace {
    /// In the keyring where there is one, else in a private file.
    Auto,
    /// In the keyring.
    Keyring,
    /// In a private file.
    File,
}
