//! Why a server could not be used, in sentences for people. They may hold words of the server, which are not scrubbed.

use serde_json::Value;

/// A question that could not be answered for another reason than that nobody knows its method.
pub(super) const NOT_ANSWERED: i64 = -32_000;
/// The code of a method that nobody serves.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;

/// An error that the other side of a connection answered with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the server answered with error {code}: {message}")]
pub struct RpcError {
    /// The number of the error, as JSON-RPC and MCP have them.
    pub code: i64,
    /// What the server says about it.
    pub message: String,
    /// More about it, for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// What a server gets if its question was not answered.
    pub(crate) fn not_answered(why: String) -> Self {
        Self::new(NOT_ANSWERED, why)
    }

    /// An error that infold answers a server with.
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// Why a server could not be reached, or why it gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// The program could not be started.
    #[error("cannot start {program}: {why}")]
    CannotStart {
        /// The program, or the address.
        program: String,
        /// What the system says.
        why: String,
    },
    /// The server's process is gone.
    #[error("the server ended ({how}){}", said(words))]
    Ended {
        /// With which code, or how else.
        how: String,
        /// The end of its standard error.
        words: String,
    },
    /// No answer came in time.
    #[error("the server did not answer {method} within {timeout_ms} ms: raise its time limit, or see what holds it up")]
    TimedOut {
        /// The request.
        method: String,
        /// Its limit.
        timeout_ms: u64,
    },
    /// The caller gave the request up.
    #[error("the request was cancelled")]
    Cancelled,
    /// The server sent more at once than it may.
    #[error("the server's answer is longer than {bytes_max} bytes: ask for less at a time")]
    TooLong {
        /// The longest message.
        bytes_max: usize,
    },
    /// The request itself is longer than any message may be.
    #[error("the request has {bytes} bytes, the limit is {bytes_max}: send less at once")]
    RequestTooLong {
        /// Its length.
        bytes: usize,
        /// The longest message.
        bytes_max: usize,
    },
    /// The server sent something that is not MCP.
    #[error("the server does not speak MCP as expected: {0}")]
    NotMcp(String),
    /// The server answered with an error of the protocol.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The server wants to know who asks.
    #[error("the server needs a login (HTTP {status}): run `infold servers login`, or put a token into its headers")]
    NeedsLogin {
        /// 401 or 403.
        status: u16,
        /// The header `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// The login has too few rights for this request.
    #[error("the login has too few rights for this: it needs {0}")]
    RightsMissing(String),
    /// There is a login, and it cannot be used at the moment.
    #[error("{0}")]
    Login(String),
    /// The server answered with another HTTP status than the protocol knows.
    #[error("the server answered with HTTP {status}{}", said(body))]
    Http {
        /// The status.
        status: u16,
        /// The beginning of what came with it.
        body: String,
    },
    /// The server has forgotten the session.
    #[error("the server has ended the session: send the request again")]
    SessionGone,
    /// The server cannot be reached, or the connection to it broke.
    #[error("cannot reach the server: {0}. Check its address, and that it runs")]
    Unreachable(String),
    /// As many calls as are allowed run already.
    #[error("{calls_max} calls of this server run already: wait until one has ended")]
    Busy {
        /// How many may run.
        calls_max: usize,
    },
    /// The connection was closed on this side.
    #[error("the connection to the server is closed: start it again")]
    Closed,
}

/// Words of the server at the end of a sentence; nothing if it said nothing.
fn said(words: &str) -> String {
    let words = words.trim();
    if words.is_empty() { String::new() } else { format!(". It said: {words}") }
}
