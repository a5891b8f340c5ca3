//! JSON-RPC messages as raw JSON: made, read, and, where one cannot be read, guessed whose answer it would have been.

use serde::Serialize;
use serde_json::{Value, json};

use super::era::{LinkEra, RequestParams};
use super::error::RpcError;

/// A message over this length is parsed on a thread of its own, so that other connections go on.
const PARSED_HERE_BYTES_MAX: usize = 256 << 10;
/// Values that a longer message may have. Each takes several times the room of its bytes once it is read, so that a list
/// of numbers would grow to a gigabyte.
const VALUES_MAX: usize = 2_000_000;
/// Room for a message at first, so that a usual one is not moved while it is written.
const WRITTEN_BYTES_USUAL: usize = 1 << 10;
/// How much of the beginning and the end of a lost message is kept, to find its id.
pub(super) const ENDS_BYTES: usize = 512;

/// A message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The answer to a request of ours. `None` if the id is not one that we would give.
    Answer { id: Option<u64>, outcome: Result<Value, RpcError> },
    /// A notification.
    Notice { method: String, params: Value },
    /// A request of the server. Its id goes back as it came.
    Request { id: Value, method: String, params: Value },
}

/// Reads a message; `None` if it is none.
pub(super) async fn read(bytes: Vec<u8>) -> Option<Incoming> {
    if bytes.len() <= PARSED_HERE_BYTES_MAX {
        return parse(&bytes);
    }
    tokio::task::spawn_blocking(move || if has_too_many_values(&bytes) { None } else { parse(&bytes) }).await.ok()?
}

/// Whether a text that may be JSON has more values than a message may have. Signs within strings do not count.
fn has_too_many_values(bytes: &[u8]) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => values += 1,
            _ => {}
        }
        if values > VALUES_MAX {
            return true;
        }
    }
    false
}

/// As [`read`], on this thread. The parser goes 128 levels deep, and no further.
pub(super) fn parse(bytes: &[u8]) -> Option<Incoming> {
    // Whether it is UTF-8 is found out once, and not for each of its strings.
    let text = std::str::from_utf8(bytes).ok()?;
    let Value::Object(mut message) = serde_json::from_str(text).ok()? else { return None };
    let params = message.remove("params").unwrap_or_default();
    let id = message.remove("id");
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) if is_id(&id) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notice { method, params }),
        (Some(_), _) => None,
        // Somebody else's JSON may have an error too.
        (None, None) if !message.contains_key("jsonrpc") => None,
        (None, id) => {
            let id = id.as_ref().and_then(Value::as_u64);
            let outcome = match (message.remove("result"), message.remove("error")) {
                (Some(result), None) => Ok(result),
                (_, Some(error)) => Err(rpc_error(error)),
                (None, None) => return None,
            };
            Some(Incoming::Answer { id, outcome })
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}

/// An error as a server wrote it, whatever it left out.
fn rpc_error(mut error: Value) -> RpcError {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned();
    let data = error.get_mut("data").map(Value::take).filter(|data| !data.is_null());
    RpcError { code, message, data }
}

/// A request of ours, which is written without making a value of it first.
#[derive(Serialize)]
pub(super) struct OwnRequest<'a> {
    jsonrpc: &'static str,
    // It comes first, because that is how it is found in what is too long to be read.
    id: u64,
    method: &'a str,
    params: RequestParams<'a>,
}

impl<'a> OwnRequest<'a> {
    pub(super) fn new(id: u64, method: &'a str, params: RequestParams<'a>) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn era(&self) -> LinkEra {
        self.params.era
    }

    pub(super) fn method(&self) -> &'a str {
        self.method
    }

    /// The parameters as the caller gave them.
    pub(super) fn given(&self) -> &'a Value {
        self.params.given
    }
}

/// A message as it is sent.
pub(super) fn written(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(WRITTEN_BYTES_USUAL);
    // What was parsed can be written.
    let _ = serde_json::to_writer(&mut bytes, message);
    bytes
}

/// A notification of ours.
pub(super) fn notice(method: &str, params: Value) -> Value {
    with(json!({ "jsonrpc": "2.0", "method": method }), "params", params)
}

/// An object with one more field. The value is moved there, where `json!` would copy it.
pub(crate) fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

/// The notification that gives a request up.
pub(super) fn cancelled(id: u64) -> Value {
    notice("notifications/cancelled", json!({ "requestId": id, "reason": "the caller does not wait any more" }))
}

/// The answer to a server's request.
pub(super) fn answer(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => with(json!({ "jsonrpc": "2.0", "id": id }), "result", result),
        Err(RpcError { code, message, data: None }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
        Err(RpcError { code, message, data }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } })
        }
    }
}

/// The id of an answer that cannot be read whole, by its beginning and its end. Servers write it before the result or
/// behind it. A wrong guess fails a request of the same server, and nothing else.
pub(super) fn id_of_lost(head: &[u8], tail: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let before = head.split("\"result\"").next().unwrap_or_default();
    let tail = String::from_utf8_lossy(tail);
    let behind = tail.rsplit(['}', ']']).nth(1).unwrap_or_default();
    let found = if before.len() < head.len() { id_in(before) } else { None };
    found.or_else(|| id_in(behind))
}

fn id_in(text: &str) -> Option<u64> {
    let value = text.split("\"id\"").nth(1)?.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find(|character: char| !character.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}
