//! A first look at a message, before the protocol library reads it whole: is it one JSON-RPC message,
//! which method does it name, does it cancel a call.
//!
//! The library answers everything that it cannot read with 415; what is wrong is said here instead.

use rmcp::model::{ErrorData, JsonRpcError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The outside of a message.
#[derive(Debug)]
pub(super) struct Envelope {
    /// The method, unless it is a response.
    pub(super) method: Option<String>,
    /// The request's id as it was written, if it is a request.
    pub(super) id: Option<String>,
    params: Option<Box<RawValue>>,
}

/// Why a body is not a message.
#[derive(Debug, PartialEq)]
pub(super) struct MessageProblem(ErrorData);

impl MessageProblem {
    /// The JSON-RPC error to answer with.
    pub(super) fn body(self) -> String {
        serde_json::to_string(&JsonRpcError::new(None, self.0)).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Outside<'a> {
    #[serde(default)]
    jsonrpc: Option<String>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Reads the outside of the message in `body`.
pub(super) fn read(body: &[u8]) -> Result<Envelope, MessageProblem> {
    let invalid = |text: &'static str| MessageProblem(ErrorData::invalid_request(text, None));
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {}
        Some(b'[') => return Err(invalid("Batches are not supported: send one message in each request")),
        Some(_) => return Err(invalid("The body must be one JSON-RPC message, a JSON object")),
        None => {
            return Err(MessageProblem(ErrorData::parse_error("The body is empty: send one JSON-RPC message", None)));
        }
    }
    // Two passes, so that broken JSON and well-formed JSON of the wrong shape are told apart.
    if serde_json::from_slice::<&RawValue>(body).is_err() {
        return Err(MessageProblem(ErrorData::parse_error("The body is not valid JSON", None)));
    }
    let outside: Outside = serde_json::from_slice(body).map_err(|_| invalid("jsonrpc and method must be strings"))?;
    if outside.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid("jsonrpc must be \"2.0\""));
    }
    if outside.method.is_none() && outside.result.is_none() && outside.error.is_none() {
        return Err(invalid("method is missing"));
    }
    if outside.id.is_some_and(|id| !is_id(id.get())) {
        return Err(invalid("id must be a string or a whole number"));
    }
    let is_request = outside.method.is_some();
    let id = outside.id.filter(|_| is_request).map(|id| id.get().to_owned());
    Ok(Envelope { method: outside.method, id, params: outside.params })
}

impl Envelope {
    /// The id of the request that this message takes back, as it was written.
    pub(super) fn cancels(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if self.method.as_deref() != Some("notifications/cancelled") {
            return None;
        }
        let params: Cancelled = serde_json::from_str(self.params.as_ref()?.get()).ok()?;
        Some(params.request_id.get().to_owned())
    }
}

fn is_id(text: &str) -> bool {
    text.starts_with('"') || text.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests;
