//! The environment of a server that infold starts. It is made of names that are known to be harmless and needed; everything
//! else, such as keys, stays with infold unless the user names it.

use std::ffi::OsString;

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

/// The variables that a server gets: those that all get, and those that the user names as `NAME` or `NAME=VALUE`.
pub fn of_server(surroundings: &Surroundings, named: &[String]) -> Vec<(OsString, OsString)> {
    let is_passed_on =
        |name: &str| PASSED_ON.contains(&name) || PASSED_ON_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    let common = surroundings.variables.iter().filter(|(name, _)| is_passed_on(name));
    let common = common.map(|(name, value)| (name.into(), value.clone()));
    let named = named.iter().filter_map(|named| match named.split_once('=') {
        Some((name, value)) => Some((name.into(), value.into())),
        None => Some((named.into(), surroundings.variables.get(named)?.clone())),
    });
    common.chain(named).collect()
}
