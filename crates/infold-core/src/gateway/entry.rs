//! Servers that the gateway may use, as the user wrote them down: how each is reached, what it may do, whose it is.
//!
//! An entry keeps `${VAR}` as it was written; [`ServerEntry::expanded`] gives what is started. Values of variables,
//! headers, arguments and queries may be secrets, so none of them is in any text that this file makes.

mod check;
mod expand;

#[cfg(test)]
mod tests;

pub use check::{EntryProblem, duplicate_names};

use std::fmt;

use serde_json::json;

use super::canonical::write_canonical;
use super::rights::Rights;

/// Characters of the hash that says which server has a name.
const TARGET_CHARS: usize = 16;

/// The name of a server, as settings or a client's file have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerKey(String);

impl ServerKey {
    /// The server of this name. Whether the name will do, [`ServerEntry::problems`] says.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What pins are of: a server's name, and which server has that name. Two agents may call different servers the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinKey {
    /// The name.
    pub server: ServerKey,
    /// A hash of the program with its arguments, or of the address.
    pub target: String,
}

/// A client whose files entries and rules are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    Opencode,
}

impl SourceClient {
    /// How the client spells a listed tool of the server entry `entry` in its rules.
    pub fn spell(self, entry: &str, listed: &str) -> String {
        match self {
            Self::Claude => format!("mcp__{entry}__{listed}"),
            Self::Codex => listed.to_owned(),
            Self::Opencode => format!("{entry}_{listed}"),
        }
    }
}

/// Where an entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOrigin {
    /// In the user's settings of infold.
    Settings,
    /// In the user's own file of a client.
    User(SourceClient),
    /// In a project's file, which anybody may have written: it is used only once it is approved.
    Project {
        /// The client whose form the file has.
        client: SourceClient,
        /// The project's path.
        path: String,
    },
}

/// What a server's tools are, for the order in which they are deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// A server like any other.
    Plain,
    /// A skill: its tools stay longer.
    Skill,
}

/// How many of a server there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One for each project, started in its folder.
    PerProject,
    /// One for all.
    Shared,
}

/// Whether a server's word counts for what its tools do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintTrust {
    /// A tool that says that it only reads is taken for one.
    Trusted,
    /// Every tool is taken for one that changes things.
    Ignored,
}

/// How long a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// For its start, until it has said what it can do.
    pub start_timeout_ms: u64,
    /// For one call.
    pub call_timeout_ms: u64,
}

/// Names with values that may be secrets: written out, it shows only the names.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct NamedValues(pub Vec<(String, String)>);

impl fmt::Debug for NamedValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What is known beforehand of how to log in to a server. Written out, it does not show the client's secret.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct LoginHints {
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// That client's secret, if it has one.
    pub client_secret: Option<String>,
    /// Rights to ask for.
    pub scopes: Vec<String>,
    /// The port that the browser comes back to.
    pub callback_port: Option<u16>,
    /// Where the authorisation server describes itself, if it cannot be found.
    pub metadata_url: Option<String>,
}

impl fmt::Debug for LoginHints {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoginHints")
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret.is_some())
            .field("scopes", &self.scopes)
            .field("callback_port", &self.callback_port)
            .field("metadata_url", &self.metadata_url)
            .finish()
    }
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerWay {
    /// It is a program that is started, and speaks over its standard input and output.
    Child {
        /// The program.
        program: String,
        /// Its arguments; no shell reads them.
        arguments: Vec<String>,
        /// Variables that it gets, with values.
        variables: NamedValues,
        /// Variables that it gets from infold's own environment, by name; `*` is all of them.
        inherited: Vec<String>,
        /// The folder that it is started in, if not the project's.
        folder: Option<String>,
    },
    /// It is somewhere else, and speaks over HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers that every request has.
        headers: NamedValues,
        /// A command that prints more headers.
        helper: Option<String>,
        /// How to log in.
        login: LoginHints,
    },
}

impl ServerWay {
    /// Whether both lead to the same server: the same program with the same arguments, or the same address.
    pub fn is_same_target(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Child { program, arguments, .. },
                Self::Child { program: other_program, arguments: other_arguments, .. },
            ) => program == other_program && arguments == other_arguments,
            (Self::Http { url, .. }, Self::Http { url: other_url, .. }) => {
                url.trim_end_matches('/') == other_url.trim_end_matches('/')
            }
            (Self::Child { .. }, Self::Http { .. }) | (Self::Http { .. }, Self::Child { .. }) => false,
        }
    }
}

impl fmt::Debug for ServerWay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arguments and addresses carry keys as well: of the ones the number is shown, of the others the front.
            Self::Child { program, arguments, variables, inherited, folder } => formatter
                .debug_struct("Child")
                .field("program", program)
                .field("arguments", &arguments.len())
                .field("variables", variables)
                .field("inherited", inherited)
                .field("folder", folder)
                .finish(),
            Self::Http { url, headers, helper, login } => formatter
                .debug_struct("Http")
                .field("url", &plain_address(url))
                .field("headers", headers)
                .field("helper", &helper.is_some())
                .field("login", login)
                .finish(),
        }
    }
}

/// An address without what may be secret in it: who logs in, the query and the fragment.
fn plain_address(url: &str) -> String {
    let front = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = front.split_once("://").unwrap_or(("", front));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

/// A server that the gateway may use.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEntry {
    /// Its name.
    pub key: ServerKey,
    /// How it is reached.
    pub way: ServerWay,
    /// What its tools' names begin with; may be empty.
    pub prefix: String,
    /// What its tools are.
    pub kind: ServerKind,
    /// How many of it there are.
    pub sharing: Sharing,
    /// How long it may take.
    pub limits: CallLimits,
    /// What its tools may do without being asked about.
    pub rights: Rights,
    /// Whether its word counts for what its tools do.
    pub hints: HintTrust,
    /// Where it was written.
    pub origin: EntryOrigin,
}

impl ServerEntry {
    /// What a server's tools are called by if settings say nothing else.
    pub fn usual_prefix(key: &ServerKey) -> String {
        format!("{key}__")
    }

    /// What the pins of its tools are of. Variables and headers do not make it another server.
    pub fn pin_key(&self) -> PinKey {
        let target = match &self.way {
            ServerWay::Child { program, arguments, .. } => json!({ "program": program, "arguments": arguments }),
            ServerWay::Http { url, .. } => json!({ "url": plain_address(url).trim_end_matches('/') }),
        };
        let hash = blake3::hash(write_canonical(&target).as_bytes()).to_hex();
        PinKey { server: self.key.clone(), target: hash.chars().take(TARGET_CHARS).collect() }
    }

    /// What an approval of this entry is for: how the server is reached, as it was written. Another program, argument,
    /// variable or address is another approval.
    pub fn approval_hash(&self) -> String {
        let mut way = match &self.way {
            ServerWay::Child { program, arguments, variables, inherited, folder } => json!({
                "program": program, "arguments": arguments, "variables": variables.0, "inherited": inherited,
                "folder": folder,
            }),
            ServerWay::Http { url, headers, helper, login } => json!({
                "url": url, "headers": headers.0, "helper": helper, "client_id": login.client_id,
                "scopes": login.scopes, "metadata_url": login.metadata_url,
            }),
        };
        if let ServerWay::Http { login: LoginHints { client_secret: Some(secret), .. }, .. } = &self.way {
            way["client_secret"] = json!(secret);
        }
        let text = write_canonical(&json!({"name": self.key.as_str(), "way": way}));
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}
