//! The environment that commands get: the user's own, without what looks like a secret.

use std::ffi::{OsStr, OsString};

use infold_core::Scrubber;

/// Parts of the names of variables that hold secrets.
const SECRET_PARTS: [&str; 9] =
    ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY"];
/// Ends of the names of variables that hold secrets.
const SECRET_ENDS: [&str; 7] = ["_TOKEN", "_KEY", "_PAT", "_PASS", "_PWD", "_AUTH", "_DSN"];
/// Beginnings of the names of variables that are about models, or about infold itself.
const SECRET_BEGINNINGS: [&str; 5] = ["ANTHROPIC_", "OPENAI_", "INFOLD_", "CLAUDE_", "CODEX_"];
/// Whole names. The sockets lead to programs that sign and log in with the user's keys; the others make programs run code.
const SECRET_NAMES: [&str; 8] = [
    "TOKEN",
    "PASS",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "LD_PRELOAD",
    "BASH_ENV",
];
/// Names that look like a secret's and are none.
const HARMLESS: [&str; 2] = ["PWD", "OLDPWD"];

/// The variables that commands get, and the names of those that they do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanEnvironment {
    /// What is left.
    pub kept: Vec<(OsString, OsString)>,
    /// The names of what was taken out, in order.
    pub taken_out: Vec<String>,
}

/// Takes out of an environment what looks like a secret, by its name or by its value.
pub fn clean(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    scrubber: Option<&Scrubber>,
) -> CleanEnvironment {
    let is_secret = |name: &OsStr, value: &OsStr| {
        // What is not text cannot be searched, and so is not passed on.
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { return true };
        has_secret_name(name)
            || has_login(value)
            || scrubber.is_some_and(|scrubber| {
                scrubber.secrets_in(&format!("{name}={value}")).map_or(true, |secrets| !secrets.is_empty())
            })
    };
    let mut clean = CleanEnvironment::default();
    for (name, value) in variables {
        if is_secret(&name, &value) {
            clean.taken_out.push(name.to_string_lossy().into_owned());
        } else {
            clean.kept.push((name, value));
        }
    }
    clean.taken_out.sort();
    clean
}

fn has_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
        || SECRET_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a value is an address with a password in it.
fn has_login(value: &str) -> bool {
    let after = value.split_once("://").map(|(_, rest)| rest.split(['/', '?', ' ']).next().unwrap_or_default());
    after.and_then(|host| host.rsplit_once('@')).is_some_and(|(login, _)| login.contains(':'))
}
