//! Headers of requests: the user's own, and those by which servers of the newer era can route a request unread.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::PROTOCOL_VERSION;
use crate::gateway::era::{LinkEra, MODERN_VERSION};
use crate::gateway::message::OwnRequest;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const ARGUMENT: &str = "mcp-param-";
/// The word of a schema that marks an argument.
const MARK: &str = "x-mcp-header";
/// How deep a schema is searched for marked arguments.
const DEPTH_MAX: usize = 16;

/// The headers that the user has set. The error is the name of one that HTTP does not allow.
pub(super) fn own(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value).ok();
        let (Some(header), Some(mut value)) = (header, value) else { return Err(name.clone()) };
        value.set_sensitive(true);
        map.append(header, value);
    }
    Ok(map)
}

/// Adds what the newer era repeats of a request in its head.
pub(super) fn add_standard(headers: &mut HeaderMap, request: &OwnRequest<'_>, schema: Option<&Value>) {
    if request.era() == LinkEra::Legacy {
        return;
    }
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN_VERSION));
    let (method, params) = (request.method(), request.given());
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => "",
    };
    header_value(method).map(|value| headers.insert(METHOD, value));
    params[key].as_str().and_then(header_value).map(|value| headers.insert(NAME, value));
    if method == "tools/call"
        && let Some(schema) = schema
    {
        mark(headers, schema, &params["arguments"], 0);
    }
}

/// Adds the arguments that a schema marks with `x-mcp-header`.
fn mark(headers: &mut HeaderMap, schema: &Value, arguments: &Value, depth: usize) {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, property) in properties.filter(|_| depth < DEPTH_MAX) {
        let Some(argument) = arguments.get(name) else { continue };
        let text = match argument {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(argument.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        let marked = property.get(MARK).and_then(Value::as_str);
        let header = marked.and_then(|marked| HeaderName::from_bytes(format!("{ARGUMENT}{marked}").as_bytes()).ok());
        if let (Some(header), Some(value)) = (header, text.as_deref().and_then(header_value)) {
            headers.insert(header, value);
        }
        mark(headers, property, argument, depth + 1);
    }
}

/// Whether a schema marks arguments that are repeated in a request's head.
pub(crate) fn marks_arguments(schema: &Map<String, Value>) -> bool {
    marks_at(schema.get("properties"), 0)
}

fn marks_at(properties: Option<&Value>, depth: usize) -> bool {
    let properties = properties.and_then(Value::as_object).into_iter().flatten();
    // Field by field, which takes less time than to hash a name for each argument of every call.
    let is_mark = |(key, value): (&String, &Value)| match key.as_str() {
        MARK => true,
        "properties" => marks_at(Some(value), depth + 1),
        _ => false,
    };
    depth < DEPTH_MAX
        && properties.filter_map(|(_, property)| property.as_object()).any(|fields| fields.iter().any(is_mark))
}

/// A text as a header's value. What a header cannot carry is written in base64, in the protocol's frame.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let is_framed = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && text.trim_ascii().len() == text.len() && !is_framed {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", base64(text.as_bytes()))).ok()
}

/// The standard form of base64, padded.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digits = [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]));
        text.extend(&digits[..=chunk.len()]);
        text.push_str(&"=".repeat(3 - chunk.len()));
    }
    text
}

#[cfg(test)]
mod tests;
