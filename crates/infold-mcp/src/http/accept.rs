//! The headers `Content-Type` and `Accept`: what a request sends, and what it takes back.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Whether the body is declared to be JSON. Anything else is refused: without the consent of the site that it
/// sends to, a web page can send a form or plain text, but not JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Replaces an `Accept` that is absent or takes anything by the two types of the protocol. The protocol library
/// looks for their names and would refuse a plain `curl` otherwise.
pub(super) fn widen(headers: &mut HeaderMap) {
    let takes_anything = match headers.get(ACCEPT) {
        None => true,
        Some(value) => value.to_str().is_ok_and(|text| text.contains("*/*")),
    };
    if takes_anything {
        headers.insert(ACCEPT, BOTH);
    }
}
