//! The answer to an MCP request, taken apart so that a test can look at each part.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The connection failed before the answer was whole: whether the call took effect is unknown.
    #[error("no answer to {method}: {reason}")]
    Lost {
        /// The JSON-RPC method that was sent.
        method: String,
        /// The transport's error.
        reason: String,
    },
    /// The HTTP layer refused the request.
    #[error("{method} got HTTP {status}: {body}")]
    Http {
        /// The JSON-RPC method that was sent.
        method: String,
        /// The HTTP status of the refusal.
        status: u16,
        /// The body of the refusal.
        body: String,
    },
    /// Something came back that is not an answer to this request.
    #[error("{method} was answered with something that is not MCP: {what}")]
    Malformed {
        /// The JSON-RPC method that was sent.
        method: String,
        /// What came back, as far as it could be read.
        what: String,
    },
}

/// A JSON-RPC error, as the server sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRpcError {
    /// The JSON-RPC error number, such as -32602.
    pub code: i64,
    /// The sentence for a person.
    pub message: String,
    /// Details for a program; null if there are none.
    pub data: Value,
}

/// The answer to a request, with its status, its header and the notifications before it.
#[derive(Debug, Clone, Default)]
pub struct CallAnswer {
    /// `structuredContent` of a tool's result.
    pub structured: Option<Value>,
    /// All text blocks of a tool's result, joined by line ends.
    pub text: String,
    /// Whether the tool said that it failed.
    pub is_error: bool,
    /// The JSON-RPC error, if there was one instead of a result.
    pub jsonrpc_error: Option<JsonRpcError>,
    /// The `X-Context-State` header; only HTTP has one.
    pub context_state_header: Option<String>,
    /// The HTTP status; 0 over stdio.
    pub http_status: u16,
    /// `_meta` of the result.
    pub meta: Option<Value>,
    /// The whole result, for what the fields above leave out.
    pub result: Value,
    /// Notifications that came on the same stream before the answer.
    pub notifications: Vec<Value>,
}

impl CallAnswer {
    /// Takes apart the JSON-RPC message that answers a request.
    pub(crate) fn from_message(mut message: Value, notifications: Vec<Value>) -> Self {
        let result = message.get_mut("result").map(Value::take).unwrap_or_default();
        Self {
            structured: result.get("structuredContent").cloned(),
            text: joined_text(&result),
            is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
            jsonrpc_error: message.get("error").map(jsonrpc_error),
            context_state_header: None,
            http_status: 0,
            meta: result.get("_meta").cloned(),
            result,
            notifications,
        }
    }

    /// Whether the call did what it was asked to.
    pub fn is_ok(&self) -> bool {
        !self.is_error && self.jsonrpc_error.is_none()
    }

    /// A field of the structured result; null when it is not there.
    pub fn field(&self, name: &str) -> Value {
        self.structured.as_ref().and_then(|fields| fields.get(name)).cloned().unwrap_or_default()
    }

    /// A text field of the structured result; empty when it is not there.
    pub fn text_field(&self, name: &str) -> String {
        self.field(name).as_str().unwrap_or_default().to_owned()
    }

    /// One line that says what came back, for failure messages.
    pub fn summary(&self) -> String {
        match (&self.jsonrpc_error, self.is_error) {
            (Some(error), _) => format!("JSON-RPC error {}: {}", error.code, error.message),
            (None, true) => format!("tool error: {}", self.text),
            (None, false) => format!("result: {}", self.text),
        }
    }
}

fn joined_text(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str()).collect();
    texts.join("\n")
}

fn jsonrpc_error(error: &Value) -> JsonRpcError {
    JsonRpcError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get("data").cloned().unwrap_or_default(),
    }
}

/// Whether `message` answers the request with this id.
pub(crate) fn answers(message: &Value, id: u64) -> bool {
    message.get("id").and_then(Value::as_u64) == Some(id)
        && (message.get("result").is_some() || message.get("error").is_some())
}
