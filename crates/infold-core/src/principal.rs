//! Who is asking. A principal owns sessions; its claims travel into the branches it opens.

use serde::{Deserialize, Serialize};

/// The name under which sessions are kept apart. It is part of every state key, so it is held to
/// characters that every store can carry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner(String);

impl Owner {
    /// The person who runs infold on their own machine.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// The owner behind a token's subject. The subject may be any text, so it is hashed; the prefix
    /// keeps it apart from [`Owner::local`] whatever the subject says.
    pub fn from_subject(subject: &str) -> Self {
        let digest = blake3::hash(subject.as_bytes()).to_hex();
        Self(format!("u-{}", &digest[..24]))
    }

    /// The name as state keys carry it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads an owner back from a state key, where only owners' names are written.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// What a caller's token says about the caller, as branches inherit it. Only what infold itself looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The token's subject; absent for local callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Who issued the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The token's scopes, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// Who is asking, and with what claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The owner whose sessions the caller may see and change.
    pub owner: Owner,
    /// What the caller's token says; empty for local callers.
    pub claims: Claims,
}

impl Principal {
    /// A program of the same user, on the same machine.
    pub fn local() -> Self {
        Self { owner: Owner::local(), claims: Claims::default() }
    }
}
