//! How a cluster is reached. There are no defaults here: the program sets every field.

use std::path::PathBuf;

/// Where the shared log is, and what is asked of it.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// Addresses of the servers, as `nats://host:port` or `tls://host:port`.
    pub servers: Vec<String>,
    /// Who this machine is to the servers.
    pub access: ClusterAccess,
    /// A file with the certificates that the servers' are signed with, if the system does not know them.
    pub ca_file: Option<PathBuf>,
    /// This machine's certificate and its key, if the servers ask for one.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The name of the stream that holds the log.
    pub stream: String,
    /// What the subjects of the log begin with.
    pub subject_prefix: String,
    /// What the subjects of documents begin with.
    pub documents_prefix: String,
    /// On how many servers the log has to be.
    pub replicas: usize,
    /// Whether the stream is made if it is not there.
    pub create: CreateStream,
    /// How many bytes are written to the log before everything in it is written down anew and old entries are removed.
    pub trim_bytes: u64,
    /// How long one question to the servers may take.
    pub attempt_ms: u64,
    /// How long to try before the cluster counts as out of reach.
    pub timeout_ms: u64,
}

impl ClusterSettings {
    /// Whether connections are meant to be encrypted.
    pub(super) fn speaks_tls(&self) -> bool {
        self.ca_file.is_some() || self.servers.iter().any(|server| server.starts_with("tls://"))
    }
}

/// Whether a stream that is not there is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateStream {
    /// It is made.
    IfAbsent,
    /// Opening the store fails.
    Never,
}

/// Who a machine is to the servers.
#[derive(Clone)]
pub enum ClusterAccess {
    /// The servers ask for nothing.
    Anyone,
    /// A name and a password.
    Password {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// A seed of an nkey.
    Nkey {
        /// The seed, which begins with `SU`.
        seed: String,
    },
    /// The text of a credentials file.
    Credentials {
        /// The file's text.
        text: String,
    },
}

impl std::fmt::Debug for ClusterAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Anyone => "Anyone",
            Self::Password { .. } => "Password",
            Self::Nkey { .. } => "Nkey",
            Self::Credentials { .. } => "Credentials",
        })
    }
}
