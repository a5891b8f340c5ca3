//! Recognises, by the provider's own words, refusals that something can be done about. Any other refusal is relayed to
//! the client word for word.

use serde_json::Value;

/// Why a provider refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderRefusal {
    /// The request does not fit into the model's window.
    TooLong {
        /// The size of the window, if the provider says it.
        window_tokens: Option<u64>,
    },
    /// Sealed reasoning in the request does not belong to the conversation before it.
    Reasoning,
}

impl ProviderRefusal {
    /// Whether the request does not fit into the window, so that a shorter one would help.
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::TooLong { .. })
    }

    /// Whether such a refusal can come with this HTTP status, so that its body is worth reading.
    pub fn may_come_with(status: u16) -> bool {
        matches!(status, 400 | 413)
    }

    /// Recognises the refusal in a response body; `None` for any other error.
    pub fn in_body(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let error = &body["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let code = error["code"].as_str().or_else(|| error["type"].as_str()).unwrap_or_default();
        Self::of(code, message)
    }

    /// Recognises a refusal by the provider's code and message; `None` for any other error.
    pub fn of(code: &str, message: &str) -> Option<Self> {
        let lower = message.to_lowercase();
        if lower.contains("bound to a different conversation") || is_forged(code, &lower) {
            return Some(Self::Reasoning);
        }
        let is_too_long = code == "context_length_exceeded"
            || code == "request_too_large"
            || lower.contains("prompt is too long")
            || lower.contains("maximum context length")
            || lower.contains("exceeds the context window")
            || lower.contains("exceeds the context length");
        is_too_long.then(|| Self::TooLong { window_tokens: window(&lower) })
    }

    /// A short name for metrics.
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

/// The number of tokens that a message gives as the maximum: "… > 200000 maximum", "maximum context length is 128000
/// tokens".
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
