//! Refusals of a provider that infold can do something about, told by the provider's own words. Anything else
//! is the client's to read, word for word.

use http::StatusCode;
use serde_json::Value;

/// What a provider refuses a request for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It does not fit.
    TooLong {
        /// Tokens that would, if the provider says so.
        window_tokens: Option<u64>,
    },
    /// Reasoning in it was made on something else.
    Reasoning,
}

impl Trouble {
    /// Whether it does not fit.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self, Self::TooLong { .. })
    }

    /// The trouble in a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too_long",
            Self::Reasoning => "reasoning",
        }
    }
}

/// Statuses with which providers say so.
pub(crate) fn may_tell(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE)
}

/// Reads the body of a refusal.
pub(crate) fn read(body: &[u8]) -> Option<Trouble> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = &body["error"];
    let message = error["message"].as_str().unwrap_or_default();
    let code = error["code"].as_str().or_else(|| error["type"].as_str()).unwrap_or_default();
    of(code, message)
}

/// Reads a provider's word for what is wrong, and what it says of it.
pub(crate) fn of(code: &str, message: &str) -> Option<Trouble> {
    let lower = message.to_lowercase();
    if lower.contains("bound to a different conversation") || is_forged(code, &lower) {
        return Some(Trouble::Reasoning);
    }
    let is_too_long = code == "context_length_exceeded"
        || code == "request_too_large"
        || lower.contains("prompt is too long")
        || lower.contains("maximum context length")
        || lower.contains("exceeds the context window");
    is_too_long.then(|| Trouble::TooLong { window_tokens: window(&lower) })
}

fn is_forged(code: &str, message: &str) -> bool {
    code == "invalid_encrypted_content"
        || (message.contains("encrypted content") && message.contains("could not be verified"))
        || (message.contains("invalid `signature`") && message.contains("thinking"))
}

/// The number of tokens that a message names as the most: "… > 200000 maximum", "maximum context length is
/// 128000 tokens".
fn window(message: &str) -> Option<u64> {
    let digits = |text: &str| -> Option<u64> {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    if let Some((before, _)) = message.split_once(" maximum")
        && let Some((_, number)) = before.rsplit_once("> ")
    {
        return digits(number);
    }
    let (_, behind) = message.split_once("maximum context length is")?;
    digits(behind)
}

#[cfg(test)]
mod tests;
