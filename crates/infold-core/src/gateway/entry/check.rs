//! What is wrong with an entry, all of it at once, in words that say what to change. No text here has a value in it
//! that may be a secret.

use std::collections::HashSet;

use super::{CallLimits, NamedValues, ServerEntry, ServerKey, ServerWay};
use crate::strip_hostile;

/// Characters that a server's name may have.
const NAME_CHARS_MAX: usize = 64;

/// Characters that a prefix may have: a tool's own name has to fit behind it.
const PREFIX_CHARS_MAX: usize = 32;

/// Headers that are part of the protocol, and that no entry may set.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "te",
    "transfer-encoding",
];

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// The name is empty, too long, or has characters that it must not have.
    #[error("the name {shown:?} must have 1 to {NAME_CHARS_MAX} visible characters, none of them \"/\"")]
    Name {
        /// The name, without what would not be visible.
        shown: String,
    },
    /// The prefix is too long, or has characters that providers do not take.
    #[error("prefix {shown:?} must have at most {PREFIX_CHARS_MAX} characters of A-Z, a-z, 0-9, _ and -")]
    Prefix {
        /// The prefix, without what would not be visible.
        shown: String,
    },
    /// A variable is not set and has no default.
    #[error("the variable {variable} is not set: set it, or write ${{{variable}:-default}}")]
    Unset {
        /// The variable's name.
        variable: String,
    },
    /// A text is too long once its variables are replaced.
    #[error("a text has more than {bytes_max} bytes once its variables are replaced")]
    TooLong {
        /// Bytes that it may have.
        bytes_max: usize,
    },
    /// Something that must not be empty is.
    #[error("{field} is empty")]
    Empty {
        /// The field, as it is spelled in settings.
        field: &'static str,
    },
    /// A text has a NUL in it, which no program can be given.
    #[error("{field} has a NUL character in it")]
    Nul {
        /// The field, as it is spelled in settings.
        field: &'static str,
    },
    /// A variable that the program would get has a name that no variable can have.
    #[error("env has a variable {shown:?}: a name must not be empty and has no \"=\"")]
    VariableName {
        /// The name, without what would not be visible.
        shown: String,
    },
    /// The address is not one that can be used.
    #[error("url {problem}")]
    Url {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A header cannot be sent.
    #[error("headers has {shown:?}: {problem}")]
    Header {
        /// The header's name, without what would not be visible.
        shown: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A limit leaves no time at all.
    #[error("{field} must be at least 1")]
    NoTime {
        /// The field, as it is spelled in settings.
        field: &'static str,
    },
}

impl ServerEntry {
    /// Everything that is wrong with the entry.
    pub fn problems(&self) -> Vec<EntryProblem> {
        let mut problems = Vec::new();
        problems.extend(name_problem(self.key.as_str()));
        problems.extend(prefix_problem(&self.prefix));
        match &self.way {
            ServerWay::Child { program, arguments, variables, inherited: _, folder } => {
                problems.extend(text_problem("command", program));
                let nul = arguments.iter().any(|argument| argument.contains('\0'));
                problems.extend(nul.then_some(EntryProblem::Nul { field: "args" }));
                problems.extend(variable_problems(variables));
                problems.extend(folder.as_ref().and_then(|folder| text_problem("cwd", folder)));
            }
            ServerWay::Http { url, headers, helper, login: _ } => {
                problems.extend(url_problem(url).map(|problem| EntryProblem::Url { problem }));
                problems.extend(headers.0.iter().filter_map(|(name, value)| header_problem(name, value)));
                problems.extend(helper.as_ref().and_then(|helper| text_problem("headers_helper", helper)));
            }
        }
        problems.extend(limit_problems(&self.limits));
        problems
    }
}

/// Names that more than one entry has.
pub fn duplicate_names(entries: &[ServerEntry]) -> Vec<&ServerKey> {
    let mut seen = HashSet::new();
    let mut twice = HashSet::new();
    let names = entries.iter().map(|entry| &entry.key);
    names.filter(|key| !seen.insert(*key) && twice.insert(*key)).collect()
}

fn name_problem(name: &str) -> Option<EntryProblem> {
    let shown = strip_hostile(name);
    let fits = !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX;
    let is_plain = shown == name && name.trim() == name && !name.contains(['/', '\n', '\t']);
    (!fits || !is_plain).then(|| EntryProblem::Name { shown: shown.chars().take(NAME_CHARS_MAX).collect() })
}

fn prefix_problem(prefix: &str) -> Option<EntryProblem> {
    let is_plain = prefix.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let shown = || strip_hostile(prefix).chars().take(PREFIX_CHARS_MAX).collect();
    (!is_plain || prefix.len() > PREFIX_CHARS_MAX).then(|| EntryProblem::Prefix { shown: shown() })
}

fn text_problem(field: &'static str, text: &str) -> Option<EntryProblem> {
    if text.trim().is_empty() {
        return Some(EntryProblem::Empty { field });
    }
    text.contains('\0').then_some(EntryProblem::Nul { field })
}

fn variable_problems(variables: &NamedValues) -> Vec<EntryProblem> {
    let is_bad = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    let bad = variables.0.iter().filter(|(name, _)| is_bad(name));
    let named = bad.map(|(name, _)| EntryProblem::VariableName { shown: strip_hostile(name) });
    let nul = variables.0.iter().any(|(_, value)| value.contains('\0'));
    named.chain(nul.then_some(EntryProblem::Nul { field: "env" })).collect()
}

/// What is wrong with an address. One that still has a variable in it is looked at once that is replaced.
fn url_problem(url: &str) -> Option<&'static str> {
    if url.contains("${") {
        return None;
    }
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Some("has spaces or control characters in it");
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => return Some("must begin with http:// or https://"),
    };
    match scheme.as_str() {
        "http" | "https" => {}
        "ws" | "wss" => {
            return Some("is a WebSocket's, which infold does not speak: leave this server with its client");
        }
        _ => return Some("must begin with http:// or https://"),
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    (host.is_empty() || host.starts_with(':')).then_some("names no host")
}

fn header_problem(name: &str, value: &str) -> Option<EntryProblem> {
    let lower = name.to_ascii_lowercase();
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let problem = if name.is_empty() || !name.chars().all(is_token) {
        "a name has letters, digits and -"
    } else if OWN_HEADERS.contains(&lower.as_str()) || lower.starts_with("mcp-") {
        "infold sets this one itself"
    } else if value.contains(['\r', '\n', '\0']) {
        "its value has a line break in it"
    } else {
        return None;
    };
    Some(EntryProblem::Header { shown: strip_hostile(name), problem })
}

fn limit_problems(limits: &CallLimits) -> Vec<EntryProblem> {
    let fields = [("start_timeout_ms", limits.start_timeout_ms), ("timeout_ms", limits.call_timeout_ms)];
    let none = fields.into_iter().filter(|(_, ms)| *ms == 0);
    none.map(|(field, _)| EntryProblem::NoTime { field }).collect()
}
