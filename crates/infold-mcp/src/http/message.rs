//! Reads the outer fields of a message before the protocol library reads the whole: whether it is one JSON-RPC
//! message, which method it names, and whether it cancels a call.
//!
//! The library answers everything that it cannot read with 415; here the caller learns what is wrong.

use rmcp::model::{ErrorData, JsonRpcError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The outer fields of a message.
#[derive(Debug)]
pub(super) struct Envelope {
    /// The method; `None` in a response.
    pub(super) method: Option<String>,
    /// The request's id as JSON text; `None` in a notification or response.
    pub(super) id: Option<String>,
    params: Option<Box<RawValue>>,
}

/// The error for a body that is not one JSON-RPC message.
#[derive(Debug, PartialEq)]
pub(super) struct MessageProblem(ErrorData);

impl MessageProblem {
    /// The error as the JSON text of the answer.
    pub(super) fn body(self) -> String {
        serde_json::to_string(&JsonRpcError::new(None, self.0)).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct OuterFields<'a> {
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

/// Reads the outer fields of the message in `body`.
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
    // Two passes, to distinguish broken JSON from well-formed JSON of the wrong shape.
    if serde_json::from_slice::<&RawValue>(body).is_err() {
        return Err(MessageProblem(ErrorData::parse_error("The body is not valid JSON", None)));
    }
    let outer: OuterFields = serde_json::from_slice(body).map_err(|_| invalid("jsonrpc and method must be strings"))?;
    if outer.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid("jsonrpc must be \"2.0\""));
    }
    if outer.method.is_none() && outer.result.is_none() && outer.error.is_none() {
        return Err(invalid("method is missing"));
    }
    if outer.id.is_some_and(|id| !is_id(id.get())) {
        return Err(invalid("id must be a string or a whole number"));
    }
    let is_request = outer.method.is_some();
    let id = outer.id.filter(|_| is_request).map(|id| id.get().to_owned());
    Ok(Envelope { method: outer.method, id, params: outer.params })
}

impl Envelope {
    /// The id of the request that this message cancels, as JSON text; `None` if it cancels nothing.
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
