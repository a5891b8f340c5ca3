//! A login as it is kept: tokens, how long they last, and what is needed to renew them. It can be written out only by
//! those who keep it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gateway::hiding::without_values;

/// How long before its end a token is renewed, at most.
const MARGIN_MS_MAX: u64 = 30_000;
/// The part of a token's life that is left when it is renewed, if that is less.
const MARGIN_PART: u64 = 10;

/// A login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    pub(super) received_at_ms: u64,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) client: LoginClient,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    /// What the tokens are for, as the authorisation server knows it.
    pub(super) resource: String,
    /// Whether the refresh token was refused. The access token may last a while longer.
    #[serde(default)]
    pub(super) is_refused: bool,
    /// Rights that the server asked for since, for the next login.
    #[serde(default)]
    pub(super) wanted_scopes: Vec<String>,
}

/// As whom infold is known to the authorisation server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoginClient {
    pub(super) id: String,
    /// A secret that came with the registration.
    pub(super) secret: Option<String>,
    pub(super) secret_way: SecretWay,
}

/// How a client's secret is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SecretWay {
    Header,
    Body,
}

/// How long a token still lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenAge {
    Fresh,
    /// It should be renewed, and can still be used.
    Due,
    Over,
}

impl StoredLogin {
    /// How old the access token is. One that came without an end is used until it is refused.
    pub(super) fn age(&self, now_ms: u64) -> TokenAge {
        let Some(end_ms) = self.expires_at_ms else { return TokenAge::Fresh };
        let margin_ms = (end_ms.saturating_sub(self.received_at_ms) / MARGIN_PART).min(MARGIN_MS_MAX);
        match now_ms {
            now_ms if now_ms >= end_ms => TokenAge::Over,
            now_ms if now_ms + margin_ms >= end_ms => TokenAge::Due,
            _ => TokenAge::Fresh,
        }
    }

    /// The refresh token, if it was not refused.
    pub(super) fn usable_refresh_token(&self) -> Option<&str> {
        self.refresh_token.as_deref().filter(|_| !self.is_refused)
    }

    /// This login with the tokens of an answer. `None` if there is none in it.
    pub(super) fn with_tokens(&self, answer: &Value, now_ms: u64) -> Option<Self> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let lasts_s = match answer.get("expires_in") {
            Some(Value::String(digits)) => digits.parse().ok(),
            other => other.and_then(Value::as_u64),
        };
        Some(Self {
            access_token: text("access_token")?.to_owned(),
            // A server that gives no new one means that the old one goes on.
            refresh_token: text("refresh_token").map(str::to_owned).or_else(|| self.refresh_token.clone()),
            received_at_ms: now_ms,
            expires_at_ms: lasts_s.map(|lasts_s: u64| now_ms.saturating_add(lasts_s.saturating_mul(1_000))),
            scopes: text("scope").map_or_else(|| self.scopes.clone(), words),
            is_refused: false,
            ..self.clone()
        })
    }

    /// The words without any of the login's secrets.
    pub(super) fn hide(&self, words: &str) -> String {
        let secrets = [Some(&self.access_token), self.refresh_token.as_ref(), self.client.secret.as_ref()];
        let secrets = secrets.into_iter().flatten().map(String::as_str);
        without_values(words, secrets.filter(|secret| !secret.is_empty()))
    }
}

/// Scopes of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl fmt::Debug for StoredLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoredLogin").field("expires_at_ms", &self.expires_at_ms).finish_non_exhaustive()
    }
}

impl fmt::Debug for LoginClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LoginClient").finish_non_exhaustive()
    }
}
