//! One setting in force: its key, its value, and the layer that the value came from.

use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::Problem;
use super::text;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// `default.toml`.
    Default,
    /// The user's file.
    User { path: PathBuf, line: usize },
    /// The project's file.
    Project { path: PathBuf, line: usize },
    /// A variable of the environment.
    Environment { variable: String },
    /// A flag, as it is spelled.
    Flag { flag: &'static str },
}

impl Origin {
    /// A line of the user's file.
    pub fn user(path: PathBuf, line: usize) -> Self {
        Self::User { path, line }
    }

    /// A line of the project's file.
    pub fn project(path: PathBuf, line: usize) -> Self {
        Self::Project { path, line }
    }

    /// The layer's name.
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
    /// The value.
    pub value: Value,
    /// Where the value came from.
    pub origin: Origin,
}

impl Entry {
    /// The value as it may be shown: an address can carry a password or a key, which is left out.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::String(address) if self.key == "telemetry.otlp_endpoint" => {
                format!("{:?}", without_credentials(address))
            }
            value => value.to_string(),
        }
    }

    /// The same for JSON.
    pub fn shown_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(address) if self.key == "telemetry.otlp_endpoint" => without_credentials(address).into(),
            value => serde_json::to_value(value).unwrap_or_default(),
        }
    }
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

/// Replaces what a higher layer says.
pub fn lay_over(entries: &mut [Entry], values: Vec<Entry>) {
    for value in values {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == value.key) {
            *entry = value;
        }
    }
}

/// The entry of a key.
pub fn find<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.key == key)
}
