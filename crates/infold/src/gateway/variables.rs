//! The environment of a server that infold starts. It is made of names that are known to be harmless and needed; everything
//! else, such as keys, stays with infold unless the user names it.

use std::ffi::OsString;

use infold_core::gateway::NamedValues;

use crate::settings::Surroundings;

/// Variables that programs need to find themselves, their user and the network.
const PASSED_ON: [&str; 20] = [
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "CURL_CA_BUNDLE",
];
/// How names begin whose variables are passed on too.
const PASSED_ON_BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// A name that means every variable of infold's environment.
const ALL: &str = "*";

/// The variables that a server gets: those that all get, those of infold's environment that the user names, and those that
/// the user gives values for.
pub fn of_server(surroundings: &Surroundings, inherited: &[String], own: &NamedValues) -> Vec<(OsString, OsString)> {
    let is_passed_on = |name: &String| {
        PASSED_ON.contains(&name.as_str())
            || PASSED_ON_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
            || inherited.iter().any(|named| named == name || named == ALL)
    };
    let passed_on = surroundings.variables.iter().filter(|(name, _)| is_passed_on(name));
    let passed_on = passed_on.map(|(name, value)| (name.into(), value.clone()));
    passed_on.chain(own.0.iter().map(|(name, value)| (name.into(), value.into()))).collect()
}
