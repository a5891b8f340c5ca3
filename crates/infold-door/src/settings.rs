//! The door's settings, and what can be wrong with them.
//!
//! There are no defaults here: the program's settings file holds them. [`DoorSettings::check`]
//! refuses values that would let too much in, or nothing at all.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::token::Token;

/// The smallest head that common clients can work with.
const HEAD_BYTES_LEAST: usize = 1024;
/// A head must fit the HTTP parser's buffer, which is a little over 400 KiB.
const HEAD_BYTES_MOST: usize = 256 * 1024;

/// Everything that can be set about the door. The program fills in every field.
#[derive(Debug, Clone)]
pub struct DoorSettings {
    /// How many connections may be open at once; one more is answered with 503 and closed.
    pub connections_max: usize,
    /// Most bytes of a request's head, from the request line to the empty line.
    pub head_bytes_max: usize,
    /// Time from a head's first byte (or from the connection's start) to its last.
    pub head_timeout_ms: u64,
    /// Most bytes of a request's body, on paths that are not in `long_bodies`.
    pub body_bytes_max: u64,
    /// Paths whose bodies are longer by nature, each with a bound of its own.
    pub long_bodies: Vec<LongBody>,
    /// Time that a connection may stay open between two requests. The next head has
    /// `head_timeout_ms` on top of it.
    pub idle_timeout_ms: u64,
    /// Time for which a peer may neither send the next byte of its body nor take the next byte of
    /// its answer.
    pub stall_timeout_ms: u64,
    /// Time that requests in flight get to finish once a shutdown has begun.
    pub drain_timeout_ms: u64,
    /// Names under which infold may be reached, besides the loopback ones and the address it
    /// listens on: `name` for any port, or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call infold, besides `http` pages on loopback:
    /// `scheme://name`, `scheme://name:port`, or `scheme://name:*` for any port.
    pub allowed_origins: Vec<String>,
    /// Path prefixes below which `Authorization` belongs to a model's provider, so that only
    /// `X-Infold-Token` is ours.
    pub provider_paths: Vec<String>,
    /// Whether each subject of a JWT has its own sessions, or all share the local user's.
    pub validator: Validator,
    /// The token in the data folder. It is accepted on loopback only.
    pub token: Option<Token>,
    /// How JWTs are checked; required when listening beyond loopback.
    pub jwt: Option<JwtSettings>,
}

/// A path whose bodies have a bound of their own, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongBody {
    /// The path, without a slash at its end.
    pub path: &'static str,
    /// Most bytes of a request's body on this path.
    pub bytes_max: u64,
}

/// Which sessions an authenticated caller gets to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validator {
    /// Each subject has its own sessions.
    Strict,
    /// All callers share the local user's sessions; branches still record each caller's claims.
    Permissive,
}

/// The one algorithm, issuer and audience that a JWT must have, and where the keys are.
#[derive(Debug, Clone)]
pub struct JwtSettings {
    /// The one algorithm, by its JWA name. What a token's own header says is never believed.
    pub algorithm: String,
    /// The issuer: what a token's `iss` must be.
    pub issuer: String,
    /// The audience: what a token's `aud` must be or contain.
    pub audience: String,
    /// A file with the HMAC secret, or with the public key in PEM form.
    pub key_file: Option<PathBuf>,
    /// A file with a JWK set, whose keys are found by `kid`. Either this or `key_file`.
    pub jwks_file: Option<PathBuf>,
    /// How far clocks may differ when `exp` and `nbf` are checked.
    pub leeway_seconds: u64,
}

/// Why the door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Other machines could reach the port, and infold could not tell its user from strangers.
    #[error(
        "{address} can be reached from other machines, and no JWT is configured: \
         listen on 127.0.0.1, or set auth.jwt (algorithm, issuer, audience and a key)"
    )]
    OpenToStrangers {
        /// The address that infold was to listen on.
        address: SocketAddr,
    },
    /// A setting has a value that cannot be used.
    #[error("{setting}: {problem}")]
    Setting {
        /// The setting's name, as in the settings file.
        setting: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A key for JWTs cannot be used.
    #[error("{}: {problem}", path.display())]
    Key {
        /// The file that was to hold the key.
        path: PathBuf,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The operating system did not give the listener's address.
    #[error("the listening socket's address cannot be read: {0}")]
    Address(#[from] std::io::Error),
}

impl DoorSettings {
    /// Refuses bounds that cannot work, by the name that the settings file gives them.
    pub(crate) fn check(&self) -> Result<(), DoorError> {
        positive("connections_max", self.connections_max as u64)?;
        positive("head_timeout_ms", self.head_timeout_ms)?;
        positive("body_bytes_max", self.body_bytes_max)?;
        for long in &self.long_bodies {
            positive("long_bodies", long.bytes_max)?;
        }
        positive("idle_timeout_ms", self.idle_timeout_ms)?;
        positive("stall_timeout_ms", self.stall_timeout_ms)?;

        if !(HEAD_BYTES_LEAST..=HEAD_BYTES_MOST).contains(&self.head_bytes_max) {
            let problem = format!("must lie between {HEAD_BYTES_LEAST} and {HEAD_BYTES_MOST}");
            return Err(DoorError::Setting { setting: "head_bytes_max", problem });
        }
        if let Some(path) = self.provider_paths.iter().find(|path| !is_prefix(path)) {
            let problem = format!("“{path}” must begin with / and not end with it");
            return Err(DoorError::Setting { setting: "provider_paths", problem });
        }
        Ok(())
    }

    /// The bound on a body that is sent to `path`.
    pub(crate) fn body_bytes_max(&self, path: &str) -> u64 {
        let own = self.long_bodies.iter().find(|long| is_below(path, long.path));
        own.map_or(self.body_bytes_max, |long| long.bytes_max)
    }

    pub(crate) fn head_timeout(&self) -> Duration {
        Duration::from_millis(self.head_timeout_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(crate) fn stall_timeout(&self) -> Duration {
        Duration::from_millis(self.stall_timeout_ms)
    }

    pub(crate) fn drain_timeout(&self) -> Duration {
        Duration::from_millis(self.drain_timeout_ms)
    }
}

fn positive(setting: &'static str, value: u64) -> Result<(), DoorError> {
    if value == 0 {
        return Err(DoorError::Setting { setting, problem: "must be at least 1".to_owned() });
    }
    Ok(())
}

/// Whether `path` is `prefix`, or lies below it.
pub(crate) fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_prefix(path: &str) -> bool {
    path.len() > 1 && path.starts_with('/') && !path.ends_with('/')
}
