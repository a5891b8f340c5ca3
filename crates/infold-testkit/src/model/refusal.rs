//! A provider's refusal: its status and its body, in the provider's own form.

use serde_json::{Value, json};

/// A refusal as it is sent, with its message for tests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) body: Value,
}

impl Refusal {
    /// Anthropic's refusal of a malformed request.
    pub(crate) fn anthropic(message: String) -> Self {
        Self::anthropic_with(400, "invalid_request_error", message)
    }

    /// Anthropic's refusal with another status.
    pub(crate) fn anthropic_with(status: u16, kind: &str, message: String) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"});
        Self { status, message, body }
    }

    /// OpenAI's refusal of a malformed request.
    pub(crate) fn openai(message: String, param: &str, code: Option<&str>) -> Self {
        let error = json!({"message": message, "type": "invalid_request_error", "param": param, "code": code});
        Self { status: 400, message, body: json!({"error": error}) }
    }

    /// Ollama's refusal of a malformed request.
    pub(crate) fn ollama(message: &str) -> Self {
        Self { status: 400, message: message.to_owned(), body: json!({ "error": message }) }
    }
}
