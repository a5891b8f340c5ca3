//! A setting in force: its key, its value, and the layer that the value came from.

use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::Problem;
use super::text;

/// The layer that a value came from, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The value in `default.toml`.
    Default,
    /// A line of the user's own file.
    User { path: PathBuf, line: usize },
    /// A line of the file in the project's folder.
    Project { path: PathBuf, line: usize },
    /// A variable in the environment.
    Environment { variable: String },
    /// A flag, as it is spelled.
    Flag { flag: &'static str },
}

impl Origin {
    pub fn user(path: PathBuf, line: usize) -> Self {
        Self::User { path, line }
    }

    pub fn project(path: PathBuf, line: usize) -> Self {
        Self::Project { path, line }
    }

    /// The name of the layer, as it is shown.
    pub fn layer(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User { .. } => "user file",
            Self::Project { .. } => "project file",
            Self::Environment { .. } => "environment",
            Self::Flag { .. } => "flag",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path, line } | Self::Project { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key, with dots between its levels.
    pub key: String,
    /// The value, of the same kind as the default.
    pub value: Value,
    pub origin: Origin,
}

impl Entry {
    /// The value as it may be shown: a password or key in an address is left out, and of servers only names are left.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::Array(servers) if self.key == "gateway.servers" => Value::Array(names(servers)).to_string(),
            Value::String(address) if self.key == "telemetry.otlp_endpoint" => {
                format!("{:?}", without_credentials(address))
            }
            value => value.to_string(),
        }
    }

    /// The value as it may be shown in JSON, without a password or key.
    pub fn shown_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Array(servers) if self.key == "gateway.servers" => {
                serde_json::to_value(names(servers)).unwrap_or_default()
            }
            Value::String(address) if self.key == "telemetry.otlp_endpoint" => without_credentials(address).into(),
            value => serde_json::to_value(value).unwrap_or_default(),
        }
    }
}

/// The names of servers. Everything else of them may be a secret.
fn names(servers: &[Value]) -> Vec<Value> {
    servers.iter().filter_map(|server| server.get("name").cloned()).collect()
}

fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (rest, query) = match rest.split_once(['?', '#']) {
        Some((rest, _)) => (rest, "?..."),
        None => (rest, ""),
    };
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("...@{host}"));
    if scheme.is_empty() { format!("{rest}{query}") } else { format!("{scheme}://{rest}{query}") }
}

/// Every setting with its default, in the order of the file.
pub fn defaults(default_toml: &str) -> Result<Vec<Entry>, Problem> {
    let leaves = text::leaves(default_toml).map_err(|error| Problem::new(format!("default.toml: {error}")))?;
    Ok(leaves.into_iter().map(|leaf| Entry { key: leaf.key, value: leaf.value, origin: Origin::Default }).collect())
}

/// Replaces the entries for which a higher layer has values.
pub fn lay_over(entries: &mut [Entry], values: Vec<Entry>) {
    for value in values {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == value.key) {
            *entry = value;
        }
    }
}

pub fn find<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.key == key)
}
