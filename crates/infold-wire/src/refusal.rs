//! What a provider refuses a request for, as far as something can be done about it, by the provider's own words.
//! Anything else is the client's to read, word for word.

use serde_json::Value;

/// What a provider refuses a request for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderRefusal {
    /// It does not fit.
    TooLong {
        /// Tokens that would, if the provider says so.
        window_tokens: Option<u64>,
    },
    /// Reasoning in it was made on something else.
    Reasoning,
}

impl ProviderRefusal {
    /// Whether it does not fit.
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::TooLong { .. })
    }

    /// Whether providers say so with this HTTP status.
    pub fn may_come_with(status: u16) -> bool {
        matches!(status, 400 | 413)
    }

    /// Reads the body of a refusal.
    pub fn in_body(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let error = &body["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let code = error["code"].as_str().or_else(|| error["type"].as_str()).unwrap_or_default();
        Self::of(code, message)
    }

    /// Reads a provider's word for what is wrong, and what it says of it.
    pub fn of(code: &str, message: &str) -> Option<Self> {
        let lower = message.to_lowercase();
        if lower.contains("bound to a different conversation") || is_forged(code, &lower) {
            return Some(Self::Reasoning);
        }
        let is_too_long = code == "context_length_exceeded"
            || code == "request_too_large"
            || lower.contains("prompt is too long")
            || lower.contains("maximum context length")
            || lower.contains("exceeds the context window");
        is_too_long.then(|| Self::TooLong { window_tokens: window(&lower) })
    }

    /// It in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too_long",
            Self::Reasoning => "reasoning",
        }
    }
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
