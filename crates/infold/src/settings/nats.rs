//! `[store.nats]`: the servers that several machines share their state through.

use serde::Deserialize;

/// Where the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In a file of this machine.
    Sqlite,
    /// In a log that several machines share.
    Nats,
}

/// `[store.nats]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Nats {
    pub servers: Vec<String>,
    pub credentials_file: String,
    pub nkey_file: String,
    pub user: String,
    pub password_file: String,
    pub ca_file: String,
    pub certificate_file: String,
    pub certificate_key_file: String,
    pub stream: String,
    pub subjects: String,
    pub documents: String,
    pub replicas: usize,
    pub create: bool,
    pub monitors: Vec<String>,
    pub sync: ServerSync,
    pub trim_bytes: u64,
    pub attempt_ms: u64,
    pub timeout_ms: u64,
}

/// What to do if nothing shows that the servers sync every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerSync {
    /// Refuse to work.
    Require,
    /// Believe that they do.
    Trust,
}
