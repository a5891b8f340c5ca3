//! Logins to servers over HTTP that ask for OAuth: how one is made, where its tokens are kept, and how they are renewed.
//!
//! Several processes use the same logins. Whoever renews one holds a lock over reading, the exchange and writing, and
//! looks again at what is kept before asking: many servers take a refresh token only once. A token that was refused is
//! marked, and only that one; a renewal that fails for any other reason leaves everything as it is.
//!
//! No token, code or secret is in any text that is made here. They travel to the server that they are for and to its
//! authorisation server, and to nobody else.

mod flow;
mod keeping;
mod keyring;
mod renewal;
mod returned;
mod stored;
mod tokens;

use std::fmt;

pub use flow::{LoginFlow, LoginRequest};
pub use keeping::{Forgotten, LoginPlace, LoginStamp, LoginStore, StoreWish};
pub use keyring::{SessionBus, keyring_problem};
pub use returned::LoginReturn;
pub(super) use tokens::{Bearer, ServerTokens};

/// The login of one server, as its connection needs it.
#[derive(Clone)]
pub struct HttpLogin {
    /// Where logins are kept.
    pub store: LoginStore,
    /// The secret of a client that was registered by hand.
    pub client_secret: Option<String>,
}

impl fmt::Debug for HttpLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpLogin").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Why a login could not be made, kept or renewed. None of the words are a token's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The server does not say where one logs in.
    #[error("the server does not say where to log in ({0})")]
    NotOffered(String),
    /// An address for logging in is one that no secret should be sent to.
    #[error("{what} is not safe to use: {address} has no https")]
    Unsafe {
        /// What the address is for.
        what: &'static str,
        /// The address, without its query.
        address: String,
    },
    /// infold could not introduce itself as a client.
    #[error("the authorisation server does not take infold as a client ({0})")]
    NotRegistered(String),
    /// No token came for the code.
    #[error("the authorisation server gave no token ({0})")]
    NotGiven(String),
    /// The tokens could not be renewed, for a reason that may pass.
    #[error("its login could not be renewed: {0}. The login is kept: try again later")]
    NotRenewed(String),
    /// What is kept could not be read or written.
    #[error("its login could not be {what}: {why}")]
    NotKept {
        /// Read, written, removed or locked.
        what: &'static str,
        /// What the system says.
        why: String,
    },
}

impl LoginError {
    fn not_kept(what: &'static str, why: impl fmt::Display) -> Self {
        Self::NotKept { what, why: why.to_string() }
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
